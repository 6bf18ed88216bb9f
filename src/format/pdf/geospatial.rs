//! Geospatial viewports: where a page lies on Earth (PDF 2.0, 12.10).
//!
//! A measure of subtype `GEO` gives points of a viewport (`LPTS`, in its unit square) and their latitudes and
//! longitudes (`GPTS`). A similarity through them, in metres of the local tangent plane of the ellipsoid, gives the
//! scale of the page, its north, and a pair of points that belong together. Projections are not computed: over
//! the ground of a building they do not differ from the plane.

use hayro_syntax::object::{Array, Dict, Rect, String as PdfString};

use super::objects::text_string;
use crate::drawing::{Affine, GeoReference, Point, Vec2};

/// Semi-major axis of WGS 84, metres.
const SEMI_MAJOR: f64 = 6_378_137.0;
/// Square of the eccentricity of WGS 84.
const ECCENTRICITY_2: f64 = 0.006_694_379_990_14;
/// Greatest distance of the points from the similarity, as a part of their spread.
const WORST_FIT: f64 = 0.05;
/// Most points that are looked at.
const MOST_POINTS: usize = 1_024;

/// The georeference of a viewport; its scale is metres in a unit of page space. `to_page` maps user space to page
/// space. `None` if the measure is of another kind, or its points do not fit a similarity.
pub(super) fn georeference(viewport: &Dict<'_>, measure: &Dict<'_>, to_page: Affine) -> Option<GeoReference> {
    let bounds = viewport.get::<Rect>("BBox")?;
    let numbers = |key: &str| -> Option<Vec<f64>> {
        Some(measure.get::<Array<'_>>(key)?.iter::<f64>().take(2 * MOST_POINTS).collect())
    };
    let earth = numbers("GPTS")?;
    let square = numbers("LPTS").unwrap_or_else(|| vec![0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 0.0]);
    let pairs: Vec<(Point, Point)> = earth
        .chunks_exact(2)
        .zip(square.chunks_exact(2))
        .map(|(earth, square)| {
            let x = bounds.x0 + square[0] * bounds.width();
            let y = bounds.y0 + square[1] * bounds.height();
            (to_page * Point::new(x, y), Point::new(earth[1], earth[0]))
        })
        .collect();
    let mut reference = fit(&pairs)?;
    reference.system = system(measure).unwrap_or_else(|| "EPSG:4326".to_owned());
    Some(reference)
}

/// The geographic system of the latitudes and longitudes, as the measure names it.
fn system(measure: &Dict<'_>) -> Option<String> {
    let system = measure.get::<Dict<'_>>("GCS")?;
    if let Some(code) = system.get::<u32>("EPSG") {
        return Some(format!("EPSG:{code}"));
    }
    Some(text_string(system.get::<PdfString<'_>>("WKT")?.as_bytes())).filter(|text| !text.trim().is_empty())
}

/// The similarity that leads from points of the page to longitudes and latitudes.
fn fit(pairs: &[(Point, Point)]) -> Option<GeoReference> {
    let count = pairs.len() as f64;
    let sensible = |(page, earth): &(Point, Point)| page.is_finite() && earth.x.abs() <= 360.0 && earth.y.abs() <= 90.0;
    if pairs.len() < 2 || !pairs.iter().all(sensible) {
        return None;
    }
    let mean = |of: fn(&(Point, Point)) -> Point| {
        (pairs.iter().map(|pair| of(pair).to_vec2()).fold(Vec2::ZERO, |sum, point| sum + point) / count).to_point()
    };
    let (page_middle, earth_middle) = (mean(|pair| pair.0), mean(|pair| pair.1));
    // Radii of curvature along the parallel and the meridian.
    let (sine, cosine) = earth_middle.y.to_radians().sin_cos();
    let root = (1.0 - ECCENTRICITY_2 * sine * sine).sqrt();
    let along_parallel = SEMI_MAJOR / root * cosine;
    let along_meridian = SEMI_MAJOR * (1.0 - ECCENTRICITY_2) / root.powi(3);
    let metres = |earth: Point| {
        let step = earth - earth_middle;
        Vec2::new(step.x.to_radians() * along_parallel, step.y.to_radians() * along_meridian)
    };
    // Least squares of the complex factor: a turn and a scale.
    let (mut dot, mut cross, mut spread) = (0.0, 0.0, 0.0);
    for (page, earth) in pairs {
        let (page, ground) = (*page - page_middle, metres(*earth));
        dot += page.dot(ground);
        cross += page.cross(ground);
        spread += page.hypot2();
    }
    let (real, imaginary) = (dot / spread, cross / spread);
    let scale = real.hypot(imaginary);
    if !(scale.is_finite() && scale > 0.0) {
        return None;
    }
    let turn = |v: Vec2| Vec2::new(real * v.x - imaginary * v.y, imaginary * v.x + real * v.y);
    let error: f64 = pairs.iter().map(|(page, earth)| (turn(*page - page_middle) - metres(*earth)).hypot2()).sum();
    if error.sqrt() > WORST_FIT * scale * spread.sqrt() {
        return None;
    }
    Some(GeoReference {
        system: String::new(),
        design_point: page_middle,
        reference_point: earth_middle,
        // What the turn takes to north.
        north: Vec2::new(imaginary, real) / scale,
        scale,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Corners of a square of `side` metres at the equator, turned clockwise on the page by `degrees`.
    fn pairs(side: f64, degrees: f64) -> Vec<(Point, Point)> {
        let corners = [(0.0, 0.0), (0.0, 1.0), (1.0, 1.0), (1.0, 0.0)];
        let (sine, cosine) = degrees.to_radians().sin_cos();
        let degree = |metres: f64, radius: f64| (metres / radius).to_degrees();
        corners
            .iter()
            .map(|&(east, north)| {
                let page = Point::new(100.0 * (cosine * east + sine * north), 100.0 * (cosine * north - sine * east));
                let latitude = degree(side * north, SEMI_MAJOR * (1.0 - ECCENTRICITY_2));
                (page, Point::new(11.0 + degree(side * east, SEMI_MAJOR), latitude))
            })
            .collect()
    }

    #[test]
    fn scale_and_north_come_from_the_points() {
        let found = fit(&pairs(50.0, 30.0)).unwrap();
        assert!((found.scale - 0.5).abs() < 1e-6, "{}", found.scale);
        let expected = Vec2::new(30f64.to_radians().sin(), 30f64.to_radians().cos());
        assert!((found.north - expected).hypot() < 1e-6, "{:?}", found.north);
        assert!((found.reference_point.x - 11.0).abs() < 0.001 && found.reference_point.y < 0.001);
    }

    #[test]
    fn points_that_do_not_fit_are_not_believed() {
        let mut mirrored = pairs(50.0, 0.0);
        mirrored.iter_mut().for_each(|(page, _)| page.x = -page.x);
        assert!(fit(&mirrored).is_none());
        assert!(fit(&pairs(0.0, 0.0)).is_none());
        assert!(fit(&[]).is_none());
        let far = [(Point::ZERO, Point::new(0.0, 95.0)), (Point::new(1.0, 1.0), Point::new(0.0, 0.0))];
        assert!(fit(&far).is_none());
    }
}
