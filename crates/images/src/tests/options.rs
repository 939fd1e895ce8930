//! Every option with its defaults, and every way to get one wrong.

use super::*;

fn parse(value: Value) -> Result<Options, String> {
    Options::parse(value.as_object().unwrap(), MissingKey::Refused)
}

#[test]
fn what_is_not_said_has_a_default() {
    let options = options(json!({"mode": "exact-dimensions"}));
    assert_eq!(options.quality(), 85);
    assert_eq!(options.format(), Format::Webp);
    assert!(options.strips_exif());
    let nulls = json!({
        "mode": "exact-dimensions", "quality": null, "format": null, "stripExif": null,
        "fit": null, "dimensions": null,
    });
    assert_eq!(super::options(nulls), options);
}

#[test]
fn what_is_said_is_taken() {
    let options = options(json!({
        "mode": "original-aspect", "sizes": {"a": 100}, "quality": 1, "format": "png",
        "stripExif": false, "fit": "outside", "pathParts": ["x"], "somethingElse": 7,
    }));
    assert_eq!((options.quality(), options.format()), (1, Format::Png));
    assert!(!options.strips_exif());
    for (name, format) in
        [("webp", Format::Webp), ("jpeg", Format::Jpeg), ("original", Format::Original)]
    {
        let options = super::options(json!({"mode": "original-aspect", "format": name}));
        assert_eq!(options.format(), format);
        assert_eq!(options.format().name(), name);
    }
}

#[test]
fn a_mode_without_its_key_means_no_variants_or_is_refused() {
    for (options, key) in [
        (json!({"mode": "exact-dimensions"}), "dimensions"),
        (json!({"mode": "aspect-ratio-width-based"}), "widths"),
        (json!({"mode": "aspect-ratio-height-based"}), "heights"),
        (json!({"mode": "original-aspect"}), "sizes"),
        (json!({"mode": "multi-aspect-ratio"}), "aspectRatios"),
        (json!({"mode": "multi-aspect-ratio", "sizes": {"a": 100}}), "aspectRatios"),
        (
            json!({"mode": "multi-aspect-ratio", "aspectRatios": [{"width": 1, "height": 1}]}),
            "sizes",
        ),
    ] {
        assert_eq!(super::options(options.clone()).variants, [], "{options}");
        let error = parse(options).unwrap_err();
        assert!(error.starts_with(&format!("{key} is required")), "{error}");
    }
}

#[test]
fn variants_of_several_ratios_are_named_after_them() {
    let options = options(json!({
        "mode": "multi-aspect-ratio", "sizes": {"small": 100, "big": 400},
        "aspectRatios": [{"width": 16, "height": 9}, {"width": 1.91, "height": 1}],
    }));
    let mut names: Vec<_> = options.variants.iter().map(|variant| &variant.name).collect();
    names.sort();
    assert_eq!(names, ["big_1.91x1", "big_16x9", "small_1.91x1", "small_16x9"]);
}

#[test]
fn the_own_key_of_a_mode_wins_over_the_general_one() {
    let both = json!({
        "mode": "aspect-ratio-width-based", "widths": {"a": 100}, "sizes": {"b": 100},
    });
    let options = options(both);
    assert_eq!(options.variants.len(), 1);
    assert_eq!(options.variants[0].name, "a");
}

fn sizes(count: usize) -> Value {
    (0..count).map(|n| (format!("v{n}"), json!(100))).collect::<serde_json::Map<_, _>>().into()
}

#[test]
fn twenty_variants_are_allowed_and_no_more() {
    let with = |sizes| parse(json!({"mode": "original-aspect", "sizes": sizes}));
    assert_eq!(with(sizes(20)).unwrap().variants.len(), 20);
    assert!(with(sizes(21)).unwrap_err().contains("at most 20"));
    let square = |n: u32| json!({"width": n, "height": 1});
    let ratios: Vec<_> = (1..=7).map(square).collect();
    let several = json!({"mode": "multi-aspect-ratio", "aspectRatios": ratios, "sizes": sizes(3)});
    assert!(parse(several).unwrap_err().contains("at most 20"));
}

#[test]
fn whatever_is_wrong_is_refused_with_its_name() {
    let ratio = json!({"width": 1, "height": 1});
    let named = |name: &str| json!({"mode": "original-aspect", "sizes": {name: 100}});
    let size = |value: Value| json!({"mode": "original-aspect", "sizes": {"a": value}});
    let exact = |value: Value| json!({"mode": "exact-dimensions", "dimensions": {"a": value}});
    let with = |key: &str, value: Value| {
        let mut options = json!({"mode": "exact-dimensions", "dimensions": {}});
        options[key] = value;
        options
    };
    let wide = |ratio: Value| json!({"mode": "aspect-ratio-width-based", "widths": {"a": 100}, "aspectRatio": ratio});
    let multi = |ratios: Value| json!({"mode": "multi-aspect-ratio", "sizes": {"a": 100}, "aspectRatios": ratios});
    for (options, told) in [
        (json!({}), "mode"),
        (json!({"mode": "stretch"}), "mode"),
        (json!({"mode": 1}), "mode"),
        (with("quality", json!(0)), "quality"),
        (with("quality", json!(101)), "quality"),
        (with("quality", json!(357)), "quality"),
        (with("quality", json!(50.5)), "quality"),
        (with("quality", json!("85")), "quality"),
        (with("format", json!("avif")), "format"),
        (with("format", json!(true)), "format"),
        (with("stripExif", json!("yes")), "stripExif"),
        (with("fit", json!("fill")), "fit"),
        (json!({"mode": "original-aspect", "sizes": {}, "fit": "cover"}), "fit"),
        (json!({"mode": "original-aspect", "sizes": {}, "fit": "contain"}), "fit"),
        (json!({"mode": "original-aspect", "sizes": [100]}), "sizes"),
        (json!({"mode": "original-aspect", "sizes": 100}), "sizes"),
        (size(json!(49)), "sizes.a"),
        (size(json!(10_001)), "sizes.a"),
        (size(json!(-100)), "sizes.a"),
        (size(json!(100.5)), "sizes.a"),
        (size(json!(1e300)), "sizes.a"),
        (size(json!("100")), "sizes.a"),
        (size(json!(4_294_967_396_u64)), "sizes.a"),
        (named(""), "names in sizes"),
        (named("a b"), "names in sizes"),
        (named("../a"), "names in sizes"),
        (named("ä"), "names in sizes"),
        (named(&"a".repeat(51)), "names in sizes"),
        (named("original"), "reserved"),
        (exact(json!(100)), "dimensions.a.width"),
        (exact(json!({"width": 100})), "dimensions.a.height"),
        (exact(json!({"width": 100, "height": 10})), "dimensions.a.height"),
        (wide(json!({"width": 0, "height": 1})), "aspectRatio"),
        (wide(json!({"width": 1, "height": -1})), "aspectRatio"),
        (wide(json!({"width": 1})), "aspectRatio"),
        (wide(json!({"width": 1, "height": 1e-12})), "aspectRatio"),
        (wide(json!({"width": 1e20, "height": 1})), "aspectRatio"),
        (wide(json!("16:9")), "aspectRatio"),
        (multi(json!([])), "aspectRatios"),
        (multi(json!(vec![ratio.clone(); 11])), "aspectRatios"),
        (multi(json!([ratio.clone(), ratio.clone()])), "differ"),
        (multi(json!([1.5])), "aspectRatios"),
        (multi(ratio), "aspectRatios"),
    ] {
        let error = parse(options.clone()).expect_err(&options.to_string());
        assert!(error.contains(told), "{options}: {error}");
    }
}

#[test]
fn edges_of_the_allowed_range_are_allowed() {
    let options = options(json!({
        "mode": "original-aspect", "quality": 100, "sizes": {"a": 50, "b": 10_000, "c": 300.0},
    }));
    assert_eq!(options.quality(), 100);
    assert_eq!(options.variants.len(), 3);
}
