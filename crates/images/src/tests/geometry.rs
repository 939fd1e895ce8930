//! What is cut out of which source and how large it gets, for every mode and fit.

use super::super::options::Fit;
use super::super::plan::{Crop, Frame, Recipe, fitted, recipes};
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
            let wanted = Frame { width: f64::from(wanted.0), height: f64::from(wanted.1) };
            let Crop { left, top, width: w, height: h } = fitted(Fit::Cover, source, wanted).crop;
            assert!(left >= 0.0 && top >= 0.0 && w > 0.0 && h > 0.0);
            assert!(left + w <= f64::from(width) && top + h <= f64::from(height));
        }
    }
}

/// Sizes of sources from square to as thin as can be, lying and standing.
fn sources() -> impl Iterator<Item = Extent> {
    let edges = [1, 2, 7, 50, 333, 399, 400, 401, 640, 799, 1001, 1999, 4032];
    edges.into_iter().flat_map(move |width| edges.map(|height| Extent { width, height }))
}

/// The requested edge is exact, not a pixel off by rounding, when the other follows from the image.
#[test]
fn what_is_asked_for_is_exact_in_every_mode() {
    let ratios = [(16, 9), (9, 16), (1, 1), (35, 1), (3, 200)];
    let mut seen = [0; 5];
    for source in sources() {
        for edge in [50, 101, 400] {
            let ratio = |(width, height)| json!({"width": width, "height": height});
            let ratios: Vec<Value> = ratios.into_iter().map(ratio).collect();
            let exact = json!({"a": {"width": edge, "height": 50}});
            for (mode, options) in [
                json!({"mode": "exact-dimensions", "dimensions": exact}),
                json!({"mode": "aspect-ratio-width-based", "widths": {"a": edge}}),
                json!({"mode": "aspect-ratio-height-based", "heights": {"a": edge}}),
                json!({"mode": "original-aspect", "sizes": {"a": edge}}),
                json!({"mode": "multi-aspect-ratio", "sizes": {"a": edge}, "aspectRatios": ratios}),
            ]
            .into_iter()
            .enumerate()
            {
                let fits: &[&str] = match mode {
                    0 | 4 => &["cover", "contain"],
                    3 => &["inside", "outside"],
                    // The box has the ratio of the image, so that every fit means the same.
                    _ => &["cover", "contain", "inside", "outside"],
                };
                for fit in fits {
                    let mut options = options.clone();
                    options["fit"] = json!(fit);
                    // More than four times the source, or not enlarged.
                    let Ok(recipes) = plan(source, options.clone()) else { continue };
                    for Recipe { canvas, picture, .. } in recipes {
                        let longest = canvas.width.max(canvas.height);
                        let found = match mode {
                            0 | 1 => canvas.width,
                            2 => canvas.height,
                            _ => longest,
                        };
                        let wanted = match mode {
                            3 => edge.min(source.width.max(source.height)),
                            _ => edge,
                        };
                        assert_eq!(found, wanted, "{source:?} {options}");
                        assert!(picture.width <= canvas.width && picture.height <= canvas.height);
                        seen[mode] += 1;
                    }
                }
            }
        }
    }
    assert!(seen.iter().all(|seen| *seen > 300), "{seen:?}");
}

/// Inside touches the box and outside covers it, on one edge exactly and nowhere beyond.
#[test]
fn a_picture_meets_its_box_on_one_edge_exactly() {
    for source in sources() {
        for (width, height) in [(400, 300), (300, 400), (50, 50), (333, 77)] {
            let fit = |fit: &str| {
                let dimensions = json!({"a": {"width": width, "height": height}});
                let options =
                    json!({"mode": "exact-dimensions", "fit": fit, "dimensions": dimensions});
                plan(source, options).map(|recipes| recipes[0].canvas)
            };
            if let Ok(inside) = fit("inside") {
                assert!(inside.width == width || inside.height == height, "{source:?} {inside:?}");
                assert!(inside.width <= width && inside.height <= height, "{source:?} {inside:?}");
            }
            if let Ok(outside) = fit("outside") {
                assert!(outside.width == width || outside.height == height, "{source:?}");
                assert!(outside.width >= width && outside.height >= height, "{source:?}");
            }
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

/// Header-only images: nothing of them is decoded to find out what they would cost.
async fn together(images: &[(u32, u32)], options: Value) -> Result<(), (usize, Failure)> {
    let mut jobs = Vec::new();
    for (width, height) in images {
        let scratch = Scratch::new();
        let file = hostile::png_claiming(*width, *height, &hostile::chunk(b"IDAT", &[]));
        let options = Options::parse(options.as_object().unwrap(), MissingKey::NoVariants);
        jobs.push(Processor::plan(scratch.source(&file), options.unwrap()).await.unwrap());
    }
    Job::check_together(jobs.iter().enumerate())
}

#[tokio::test]
async fn the_images_of_a_request_have_a_hundred_megapixels_together() {
    let plain = json!({"mode": "original-aspect"});
    assert!(together(&[(5000, 5000); 4], plain.clone()).await.is_ok());
    assert!(together(&[(10_000, 10_000)], plain.clone()).await.is_ok());
    for (images, at) in [(&[(5000, 5000); 5][..], 4), (&[(10_000, 10_000), (1, 1), (1, 1)], 1)] {
        let (first, failure) = together(images, plain.clone()).await.unwrap_err();
        assert_eq!(first, at);
        assert!(matches!(failure, Failure::Invalid(why) if why.contains("100 megapixels")));
    }
}

#[tokio::test]
async fn what_a_request_makes_of_its_images_has_a_hundred_megapixels_together() {
    let each = json!({"width": 5000, "height": 5000});
    let three =
        json!({"mode": "exact-dimensions", "dimensions": {"a": each, "b": each, "c": each}});
    let mut more = three.clone();
    more["dimensions"]["d"] = json!({"width": 50, "height": 50});
    assert!(together(&[(5000, 5000)], three.clone()).await.is_ok());
    // The original is written too, and a second image counts with the first.
    let small = json!({"mode": "original-aspect", "sizes": {"a": 50}});
    for (images, options, at) in [
        (&[(5000, 5000)][..], &more, 0),
        (&[(5000, 5000), (2500, 2500)], &three, 1),
        (&[(10_000, 10_000)], &small, 0),
    ] {
        let (first, failure) = together(images, options.clone()).await.unwrap_err();
        assert_eq!(first, at, "{options}");
        assert!(matches!(failure, Failure::Options(why) if why.contains("100 megapixels")));
    }
}

#[test]
fn absurd_ratios_do_not_wrap_into_something_small() {
    let ratio = json!({"width": 0.0001, "height": 999_999_999});
    let options =
        json!({"mode": "aspect-ratio-width-based", "widths": {"a": 10_000}, "aspectRatio": ratio});
    assert!(plan(SOURCE, options).is_err());
}
