//! Objects beside entities: the dictionaries and filters that clip block references, and the georeference.

use std::collections::HashSet;

use cadkit_dwg::native::ObjectData;

use super::document::Writer;
use super::raw;

impl Writer<'_> {
    /// Writes the extension dictionaries of the written block references, as far as clips are found through them.
    pub(super) fn objects(&mut self) {
        let mut seen = HashSet::new();
        for dictionary in std::mem::take(&mut self.dictionaries) {
            if seen.insert(dictionary)
                && let Some(filters) = self.entry(dictionary, "ACAD_FILTER")
            {
                self.dictionary(dictionary, "ACAD_FILTER", filters);
                if let Some(filter) = self.entry(filters, "SPATIAL") {
                    self.dictionary(filters, "SPATIAL", filter);
                    self.spatial_filter(filter);
                }
            }
        }
        self.geodata();
    }

    /// Writes the georeference. A drawing has one.
    fn geodata(&mut self) {
        let mut objects = self.file.objects.iter().filter(|(_, object)| object.type_name == "GEODATA");
        let found = objects.find_map(|(handle, object)| Some((*handle, raw::geodata(self.file.version, object)?)));
        let Some((handle, geodata)) = found else { return };
        self.tags.record("GEODATA");
        self.tags.handle(5, handle);
        self.tags.point3(10, geodata.design);
        self.tags.point3(11, geodata.reference);
        self.tags.real(40, geodata.scale);
        self.tags.point2(12, geodata.north);
        self.tags.text(301, &geodata.system);
    }

    fn entry(&self, dictionary: u64, name: &str) -> Option<u64> {
        let ObjectData::Dictionary(dictionary) = &self.object(dictionary)?.data else { return None };
        dictionary.entries.iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, handle)| *handle)
    }

    fn dictionary(&mut self, handle: u64, name: &str, entry: u64) {
        self.tags.record("DICTIONARY");
        self.tags.handle(5, handle);
        self.tags.text(3, name);
        self.tags.handle(360, entry);
    }

    fn spatial_filter(&mut self, handle: u64) {
        let filter = self.object(handle).and_then(|object| raw::spatial_filter(self.file.version, object));
        let Some(filter) = filter else { return };
        self.tags.record("SPATIAL_FILTER");
        self.tags.handle(5, handle);
        self.tags.count(70, filter.points.len());
        for point in &filter.points {
            self.tags.point2(10, *point);
        }
        self.tags.point3(210, filter.extrusion);
        self.tags.point3(11, filter.origin);
        self.tags.integer(71, i64::from(filter.shown));
        for (flag, distance, plane) in [(72, 40, filter.front), (73, 41, filter.back)] {
            self.tags.integer(flag, i64::from(plane.is_some()));
            if let Some(plane) = plane {
                self.tags.real(distance, plane);
            }
        }
        for value in filter.inverse_block.iter().chain(&filter.clip) {
            self.tags.real(40, *value);
        }
    }
}
