//! What is cut out of which source and how large it gets, for every mode and fit.

use super::super::options::Fit;
use super::super::plan::{Crop, Recipe, fitted, recipes};
use super::*;

const SOURCE: Extent = Extent { width: 1200, height: 800 };

fn plan(source: Extent, options: Value) -> Result<Vec<Recipe>, String> {
    let options = options.as_object().unwrap();
    let options = Options::parse(options, MissingKey::Refused).unwrap();
    recipes(&options, source, Encoding::Webp)
}

fn canvases(source: Extent, options: Value) -> Vec<(u32, u32)> {
    let recipes = plan(source, options).unwrap();
    recipes.iter().map(|recipe| (recipe.canvas.width, recipe.canvas.height)).collect()
}

#[test]
fn every_mode_has_its_box() {
    let ratio = json!({"width": 16, "height": 9});
    for (options, expected) in [
        (
            json!({"mode": "exact-dimensions", "dimensions": {"a": {"width": 300, "height": 70}}}),
            (300, 70),
        ),
        (
            json!({"mode": "exact-dimensions", "sizes": {"a": {"width": 300, "height": 70}}}),
            (300, 70),
        ),
        (
            json!({"mode": "aspect-ratio-width-based", "widths": {"a": 300}, "aspectRatio": ratio}),
            (300, 169),
        ),
        (json!({"mode": "aspect-ratio-width-based", "widths": {"a": 300}}), (300, 200)),
        (json!({"mode": "aspect-ratio-width-based", "sizes": {"a": 301}}), (301, 201)),
        (
            json!({"mode": "aspect-ratio-height-based", "heights": {"a": 300}, "aspectRatio": ratio}),
            (533, 300),
        ),
        (json!({"mode": "aspect-ratio-height-based", "sizes": {"a": 300}}), (450, 300)),
        (json!({"mode": "original-aspect", "sizes": {"a": 300}}), (300, 200)),
        (json!({"mode": "original-aspect", "sizes": {"a": 300}, "fit": "outside"}), (300, 200)),
        (json!({"mode": "original-aspect", "sizes": {"a": 1201}}), (1200, 800)),
        (
            json!({"mode": "multi-aspect-ratio", "sizes": {"a": 300}, "aspectRatios": [ratio]}),
            (300, 169),
        ),
        (
            json!({"mode": "multi-aspect-ratio", "sizes": {"a": 300}, "aspectRatios": [{"width": 9, "height": 16}]}),
            (169, 300),
        ),
        // A ratio of which nothing would be left keeps a pixel.
        (
            json!({"mode": "aspect-ratio-width-based", "widths": {"a": 50}, "aspectRatio": {"width": 1000, "height": 1}}),
            (50, 1),
        ),
    ] {
        assert_eq!(canvases(SOURCE, options.clone()), [expected], "{options}");
    }
    let turned = canvases(SOURCE.turned(), json!({"mode": "original-aspect", "sizes": {"a": 300}}));
    assert_eq!(turned, [(200, 300)]);
}

#[test]
fn every_fit_has_its_crop_picture_and_canvas() {
    let crop = |left, top, width, height| Crop { left, top, width, height };
    let all = crop(0.0, 0.0, 1200.0, 800.0);
    for (fit, (width, height), used, picture, canvas) in [
        ("cover", (400, 400), crop(200.0, 0.0, 800.0, 800.0), (400, 400), (400, 400)),
        ("cover", (300, 100), crop(0.0, 200.0, 1200.0, 400.0), (300, 100), (300, 100)),
        ("cover", (1500, 1500), crop(200.0, 0.0, 800.0, 800.0), (1500, 1500), (1500, 1500)),
        ("contain", (400, 400), all, (400, 267), (400, 400)),
        ("contain", (300, 100), all, (150, 100), (300, 100)),
        ("contain", (1800, 1500), all, (1800, 1200), (1800, 1500)),
        ("inside", (400, 400), all, (400, 267), (400, 267)),
        ("inside", (300, 100), all, (150, 100), (150, 100)),
        ("inside", (1800, 1500), all, (1800, 1200), (1800, 1200)),
        ("outside", (400, 400), all, (600, 400), (600, 400)),
        ("outside", (300, 100), all, (300, 200), (300, 200)),
        ("outside", (100, 1000), all, (1500, 1000), (1500, 1000)),
    ] {
        let recipes = plan(
            SOURCE,
            json!({
                "mode": "exact-dimensions", "fit": fit,
                "dimensions": {"a": {"width": width, "height": height}},
            }),
        );
        let [recipe] = recipes.unwrap()[..] else { panic!("one variant, one recipe") };
        let size = |extent: Extent| (extent.width, extent.height);
        assert_eq!(size(recipe.picture), picture, "{fit} {width}x{height}");
        assert_eq!(size(recipe.canvas), canvas, "{fit} {width}x{height}");
        let near = |a: f64, b: f64| (a - b).abs() < 1e-6;
        let found = recipe.crop;
        assert!(near(found.left, used.left) && near(found.top, used.top), "{fit} {found:?}");
        assert!(near(found.width, used.width) && near(found.height, used.height), "{found:?}");
    }
}

#[test]
fn a_crop_never_leaves_the_source() {
    for (width, height) in [(1, 1), (7, 3), (4999, 3), (3, 4999), (333, 1000)] {
        let source = Extent { width, height };
        for wanted in [(50, 50), (51, 977), (977, 51), (9999, 50)] {
            let wanted = Extent { width: wanted.0, height: wanted.1 };
            let Crop { left, top, width: w, height: h } = fitted(Fit::Cover, source, wanted).crop;
            assert!(left >= 0.0 && top >= 0.0 && w > 0.0 && h > 0.0);
            assert!(left + w <= f64::from(width) && top + h <= f64::from(height));
        }
    }
}

#[test]
fn a_variant_has_at_most_four_times_the_pixels_of_its_source() {
    let source = Extent { width: 100, height: 100 };
    let with = |width, height| json!({"mode": "exact-dimensions", "dimensions": {"a": {"width": width, "height": height}}});
    assert!(plan(source, with(200, 200)).is_ok());
    let error = plan(source, with(200, 201)).unwrap_err();
    assert!(error.contains("variant a") && error.contains("4 times"), "{error}");
    // Not enlarged, so never too large.
    let one = Extent { width: 1, height: 1 };
    assert!(plan(one, json!({"mode": "original-aspect", "sizes": {"a": 50}})).is_ok());
    // What sticks out counts.
    let strip = Extent { width: 10_000, height: 10 };
    let outside = json!({"mode": "exact-dimensions", "fit": "outside", "dimensions": {"a": {"width": 50, "height": 50}}});
    assert!(plan(strip, outside).is_err());
}

#[test]
fn the_variants_of_an_image_have_at_most_a_hundred_megapixels() {
    let source = Extent { width: 5000, height: 5000 };
    let each = json!({"width": 5000, "height": 5000});
    let four = json!({"a": each, "b": each, "c": each, "d": each});
    let mut five = four.clone();
    five["e"] = json!({"width": 50, "height": 50});
    let with = |sizes| plan(source, json!({"mode": "exact-dimensions", "dimensions": sizes}));
    assert!(with(four).is_ok());
    assert!(with(five).unwrap_err().contains("100 megapixels"));
}

#[test]
fn absurd_ratios_do_not_wrap_into_something_small() {
    let ratio = json!({"width": 0.0001, "height": 999_999_999});
    let options =
        json!({"mode": "aspect-ratio-width-based", "widths": {"a": 10_000}, "aspectRatio": ratio});
    assert!(plan(SOURCE, options).is_err());
}
