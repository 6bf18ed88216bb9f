//! How fast are PDF pages read, beside the interpreter of hayro 0.9 with a device that keeps nothing, in the same run?
//!
//! `cargo bench --bench pdf` makes a plan of 50,000 paths and 10,000 texts, and a document of 500 pages;
//! `PLAN2GEO_PDF_FOLDER=… cargo bench --bench pdf` takes the files of a folder. CPU time of this thread, best of three.
//! With `PLAN2GEO_PYTHON=…`, a Python that has PyMuPDF, its `get_drawings` and `get_text` run beside (one run, its own
//! CPU time without the start).

#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::disallowed_methods, missing_docs)]

mod clock;

use std::fmt::Write as _;
use std::sync::Arc;

use bytes::Bytes;
use clock::best_of;
use hayro_interpret::{Context, DummyDevice, InterpreterCache, InterpreterSettings, interpret_page};
use hayro_syntax::Pdf;
use kurbo::{Affine, Rect};
use plan2geo::drawing::SourceFormat;
use plan2geo::format::pdf::count_pages;
use plan2geo::format::{Limits, ReadOptions, Readers};

fn main() {
    if let Ok(folder) = std::env::var("PLAN2GEO_PDF_FOLDER") {
        let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        let pdfs = paths.iter().filter(|path| path.extension().is_some_and(|extension| extension == "pdf"));
        let files: Vec<Bytes> = pdfs.map(|path| std::fs::read(path).unwrap().into()).collect();
        compare(&format!("{} files", files.len()), &files);
        return;
    }
    compare("one page of 50,000 paths", &[document(1, 50_000)]);
    let pages = document(500, 1_000);
    compare("500 pages of 1,000 paths", std::slice::from_ref(&pages));
    println!("count of 500 pages         {:>8.4} s", best_of(3, || drop(count_pages(&pages, &Limits::default()))));
    let one = best_of(3, || {
        let mut readers = Readers::default();
        drop(readers.read(SourceFormat::Pdf, "", &pages, 250, &ReadOptions::default(), &|| Ok(())));
    });
    println!("opening and page 250       {one:>8.4} s");
}

fn compare(what: &str, files: &[Bytes]) {
    let megabytes = files.iter().map(Bytes::len).sum::<usize>() as f64 / 1e6;
    let ours = best_of(3, || files.iter().for_each(read_all));
    let theirs = best_of(3, || files.iter().for_each(interpret_all));
    println!("{what}, {megabytes:.1} MB, CPU seconds of the best of three runs");
    let mut rows = vec![("plan2geo read", ours), ("hayro, nothing kept", theirs)];
    if let Ok(python) = std::env::var("PLAN2GEO_PYTHON") {
        let [drawings, texts] = mupdf(&python, files);
        rows.extend([("PyMuPDF get_drawings", drawings), ("PyMuPDF get_text", texts)]);
    }
    for (name, seconds) in rows {
        println!("{name:<24}   {seconds:>8.4} s  {:>6.2} x plan2geo's time", seconds / ours);
    }
}

/// CPU seconds of PyMuPDF for the paths and for the texts of all pages.
fn mupdf(python: &str, files: &[Bytes]) -> [f64; 2] {
    const SCRIPT: &str = "
import sys, time, pymupdf
def cpu(get):
    begin = time.process_time()
    for name in sys.argv[1:]:
        try:
            with pymupdf.open(name) as document:
                for page in document: get(page)
        except Exception: pass
    return time.process_time() - begin
print(cpu(lambda page: page.get_drawings()), cpu(lambda page: page.get_text()))
";
    let folder = tempfile::tempdir().unwrap();
    let names: Vec<_> = (0..files.len()).map(|index| folder.path().join(format!("{index}.pdf"))).collect();
    names.iter().zip(files).for_each(|(name, bytes)| std::fs::write(name, bytes).unwrap());
    let output = std::process::Command::new(python).args(["-W", "ignore", "-c", SCRIPT]).args(&names).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let seconds: Vec<f64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    <[f64; 2]>::try_from(seconds).unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)))
}

fn read_all(bytes: &Bytes) {
    let Ok(pages) = count_pages(bytes, &Limits::default()) else { return };
    let mut readers = Readers::default();
    let options = ReadOptions { raster_only_as_empty: true, ..ReadOptions::default() };
    for page in 1..=pages {
        drop(std::hint::black_box(readers.read(SourceFormat::Pdf, "", bytes, page, &options, &|| Ok(()))));
    }
}

fn interpret_all(bytes: &Bytes) {
    let Ok(pdf) = Pdf::new(Arc::new(bytes.clone())) else { return };
    let cache = InterpreterCache::new();
    for page in pdf.pages().iter() {
        let (width, height) = page.render_dimensions();
        let to_page = Affine::new(page.initial_transform(true).as_coeffs());
        let bounds = Rect::new(0.0, 0.0, f64::from(width), f64::from(height));
        let mut context = Context::new(to_page, bounds, &cache, pdf.xref(), InterpreterSettings::default());
        interpret_page(page, &mut context, &mut DummyDevice);
    }
}

/// Pages of walls, doors and room numbers, compressed as plotters write them.
fn document(num_pages: u32, num_paths: u32) -> Bytes {
    let mut bytes = b"%PDF-1.5\n".to_vec();
    let mut offsets = Vec::new();
    let mut object = |bytes: &mut Vec<u8>, body: &[u8]| {
        offsets.push(bytes.len());
        bytes.extend(format!("{} 0 obj\n", offsets.len()).into_bytes());
        bytes.extend_from_slice(body);
        bytes.extend_from_slice(b"\nendobj\n");
    };
    let kids: String = (0..num_pages).map(|page| format!("{} 0 R ", 4 + 2 * page)).collect();
    object(&mut bytes, b"<< /Type /Catalog /Pages 2 0 R >>");
    object(&mut bytes, format!("<< /Type /Pages /Kids [{kids}] /Count {num_pages} >>").as_bytes());
    object(&mut bytes, b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>");
    for page in 0..num_pages {
        let dict = format!(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 2400 1700] /Contents {} 0 R /Resources << /Font << /F 3 0 R >> >> >>",
            5 + 2 * page
        );
        object(&mut bytes, dict.as_bytes());
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
        std::io::Write::write_all(&mut encoder, content(num_paths).as_bytes()).unwrap();
        let data = encoder.finish().unwrap();
        let mut body = format!("<< /Filter /FlateDecode /Length {} >>\nstream\n", data.len()).into_bytes();
        body.extend(data);
        body.extend_from_slice(b"\nendstream");
        object(&mut bytes, &body);
    }
    let start = bytes.len();
    let mut table = format!("xref\n0 {}\n0000000000 65535 f \n", offsets.len() + 1);
    for offset in &offsets {
        writeln!(table, "{offset:010} 00000 n ").unwrap();
    }
    let trailer = format!("trailer << /Size {} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n", offsets.len() + 1);
    bytes.extend((table + &trailer).into_bytes());
    bytes.into()
}

fn content(num_paths: u32) -> String {
    let mut content = String::from("0.5 w 0 0 0 RG\n");
    for index in 0..num_paths {
        let (x, y) = (f64::from(index % 240) * 10.0 + 0.125, f64::from(index / 240 % 160) * 10.0 + 0.25);
        match index % 5 {
            0 => writeln!(content, "{x} {y} 8.5 0.75 re f"),
            1 => writeln!(content, "q 1 0 0 1 {x} {y} cm 0 0 m 9.5 0 l 9.5 9.5 l S Q"),
            2 => writeln!(content, "{x} {y} m {} {y} {} {} {} {} c S", x + 2.0, x + 4.0, y + 2.0, x + 4.0, y + 4.0),
            3 => writeln!(content, "{x} {y} m {} {y} l {} {} l h B", x + 5.0, x + 5.0, y + 5.0),
            _ => writeln!(content, "{x} {y} m {} {} l S BT /F 3 Tf {x} {y} Td (R{index}) Tj ET", x + 9.0, y + 1.0),
        }
        .unwrap();
    }
    content
}
