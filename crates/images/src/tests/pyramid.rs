//! Small variants of large pictures: made from a smaller level, and indistinguishable from those made from
//! all pixels.

use super::super::options::Fit;
use super::super::plan::{Frame, fitted};
use super::super::pyramid::Pyramid;
use super::*;

fn picture(width: u32, height: u32, alpha: bool) -> Picture {
    let extent = Extent { width, height };
    let colours = fields(width, height);
    if !alpha {
        return Picture::rgb(extent, colours).unwrap();
    }
    let pixel = |(at, colour): (usize, &[u8; 3])| {
        let shade = (at as u32 % width * 255 / width) as u8;
        [colour[0], colour[1], colour[2], shade]
    };
    let data = colours.as_chunks::<3>().0.iter().enumerate().flat_map(pixel).collect();
    Picture::rgba(extent, data).unwrap().premultiplied().unwrap()
}

#[test]
fn a_small_variant_looks_as_if_made_from_all_pixels() {
    let mut compared = 0;
    for (width, height) in [(1600, 1200), (1601, 1199), (3001, 77), (64, 2000)] {
        for alpha in [false, true] {
            let whole = picture(width, height, alpha);
            let mut pyramid = Pyramid::new(whole.clone());
            for fit in [Fit::Cover, Fit::Contain, Fit::Inside, Fit::Outside] {
                for (width, height) in [(50.0, 50.0), (120.0, 60.0), (333.0, 50.0)] {
                    let recipe = fitted(fit, whole.extent(), Frame { width, height });
                    let (made, direct) =
                        (pyramid.variant(&recipe, false), whole.variant(&recipe, false));
                    let (made, direct) = (made.unwrap(), direct.unwrap());
                    assert_eq!(made.extent(), direct.extent());
                    assert_eq!(made.has_alpha(), direct.has_alpha());
                    // One row of two fields is whatever the filter weighs more.
                    if made.extent().width.min(made.extent().height) < 8 {
                        continue;
                    }
                    compared += 1;
                    let differences = made.data().iter().zip(direct.data());
                    let differences = differences.map(|(a, b)| f64::from(a.abs_diff(*b)));
                    let mean = differences.sum::<f64>() / made.data().len() as f64;
                    assert!(mean < 3.0, "{:?} {fit:?} {recipe:?}: {mean}", whole.extent());
                }
            }
        }
    }
    assert!(compared > 60, "{compared}");
}

#[test]
fn many_small_variants_share_what_they_are_made_from() {
    let whole = picture(3200, 3200, false);
    let mut pyramid = Pyramid::new(whole.clone());
    let mut make = |edge: f64| {
        let frame = Frame { width: edge, height: edge };
        pyramid.variant(&fitted(Fit::Cover, whole.extent(), frame), false).unwrap();
        pyramid.levels()
    };
    // At least twice as large as what is made of it: 3200, 1600, 800, 400, 200, 100.
    for (edge, levels) in [(3200.0, 0), (801.0, 0), (800.0, 1), (400.0, 2), (50.0, 5), (51.0, 5)] {
        assert_eq!(make(edge), levels, "{edge}");
    }
}
