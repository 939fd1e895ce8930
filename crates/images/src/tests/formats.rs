//! Everything that is accepted, in every form it comes in, and everything that is written.

use jpeg_encoder::ColorType as Jpeg;
use png::{BitDepth, ColorType};
use tiff::encoder::colortype;

use super::*;

const PLACES: [(f64, f64); 4] = [(0.2, 0.2), (0.8, 0.2), (0.2, 0.8), (0.8, 0.8)];

#[track_caller]
fn assert_fields(output: &Output, expected: [[u8; 4]; 4]) {
    for (place, expected) in PLACES.into_iter().zip(expected) {
        assert_colour(&output.file, place, expected);
    }
}

#[tokio::test]
async fn every_accepted_format_comes_out_in_every_written_one() {
    for (name, file) in one_of_each((120, 80), &fields(120, 80)) {
        assert!(Processor::sniff(&file));
        for (format, usual) in
            [("webp", "webp"), ("jpeg", "jpeg"), ("png", "png"), ("original", name)]
        {
            let options = json!({
                "mode": "exact-dimensions", "dimensions": {"s": {"width": 60, "height": 60}},
                "format": format,
            });
            let made = made(&file, options).await;
            let expected = if matches!(usual, "gif" | "tiff") { "png" } else { usual };
            assert_eq!(made.processed.source_format, name);
            assert_eq!((made.processed.width, made.processed.height), (120, 80));
            for (output, size) in made.outputs().zip([(120, 80), (60, 60)]) {
                let bytes = fs::read(&output.file).unwrap();
                assert_eq!(output.encoding.name(), expected);
                assert_eq!(header(&bytes).kind.name(), expected);
                assert_eq!(bytes.len() as u64, output.size);
                assert_eq!((output.width, output.height), size);
                let extent = header(&bytes).extent();
                assert_eq!((extent.width, extent.height), size);
                assert_fields(output, [RED, GREEN, BLUE, WHITE]);
            }
        }
    }
}

#[test]
fn outputs_are_named_as_the_web_knows_them() {
    let all = [Encoding::Webp, Encoding::Jpeg, Encoding::Png];
    let told = all.map(|e| (e.name(), e.extension(), e.mime()));
    assert_eq!(
        told,
        [
            ("webp", "webp", "image/webp"),
            ("jpeg", "jpg", "image/jpeg"),
            ("png", "png", "image/png"),
        ]
    );
}

async fn original(file: &[u8]) -> Made {
    made(file, json!({"mode": "original-aspect", "format": "png"})).await
}

#[tokio::test]
async fn grey_palette_and_deep_pngs_are_read() {
    let grey: Vec<u8> = fields(40, 40).chunks(3).map(|p| p[2]).collect();
    let greys = [RED, GREEN, BLUE, WHITE].map(|[_, _, blue, _]| [blue, blue, blue, 255]);
    let file = png((40, 40), ColorType::Grayscale, BitDepth::Eight, &grey);
    assert_fields(&original(&file).await.processed.original, greys);

    let half: Vec<u8> = grey.iter().flat_map(|grey| [*grey, 128]).collect();
    let file = png((40, 40), ColorType::GrayscaleAlpha, BitDepth::Eight, &half);
    assert_fields(&original(&file).await.processed.original, greys.map(|[b, ..]| [b, b, b, 128]));

    let deep: Vec<u8> = fields(40, 40).into_iter().flat_map(|byte| [byte, 0]).collect();
    let file = png((40, 40), ColorType::Rgb, BitDepth::Sixteen, &deep);
    assert_fields(&original(&file).await.processed.original, [RED, GREEN, BLUE, WHITE]);

    let deep: Vec<u8> =
        fields(40, 40).chunks(3).flat_map(|p| [p[0], 0, p[1], 0, p[2], 0, 64, 0]).collect();
    let file = png((40, 40), ColorType::Rgba, BitDepth::Sixteen, &deep);
    let faint = [RED, GREEN, BLUE, WHITE].map(|[r, g, b, _]| [r, g, b, 64]);
    assert_fields(&original(&file).await.processed.original, faint);

    // Two bits for each pixel: four to a byte.
    let rows = [[0b0001_u8; 1]; 2];
    let palette = |info: &mut png::Info<'_>| {
        (info.color_type, info.bit_depth) = (ColorType::Indexed, BitDepth::Two);
        info.palette =
            Some([RED, GREEN].concat()[..].iter().copied().filter(|b| *b != 255).collect());
        info.trns = Some([255, 0][..].into());
    };
    let file = png_with((4, 2), rows.as_flattened(), palette);
    let output = original(&file).await;
    assert_colour(&output.processed.original.file, (0.1, 0.1), RED);
    assert_colour(&output.processed.original.file, (0.9, 0.9), [GREEN[0], GREEN[1], GREEN[2], 0]);
}

#[tokio::test]
async fn grey_cmyk_and_progressive_jpegs_are_read() {
    let rgb = fields(64, 64);
    let grey: Vec<u8> = rgb.chunks(3).map(|p| p[2]).collect();
    let greys = [RED, GREEN, BLUE, WHITE].map(|[_, _, blue, _]| [blue, blue, blue, 255]);
    let file = jpeg_with((64, 64), Jpeg::Luma, &grey, |_| ());
    assert_fields(&original(&file).await.processed.original, greys);

    let file = jpeg_with((64, 64), Jpeg::Rgb, &rgb, |e| e.set_progressive(true));
    assert_fields(&original(&file).await.processed.original, [RED, GREEN, BLUE, WHITE]);

    let separate = jpeg_with((64, 64), Jpeg::Rgb, &rgb, |encoder| {
        encoder.set_sampling_factor(jpeg_encoder::SamplingFactor::F_2_1);
        encoder.set_optimized_huffman_tables(true);
    });
    assert_fields(&original(&separate).await.processed.original, [RED, GREEN, BLUE, WHITE]);

    let cmyk: Vec<u8> =
        rgb.chunks(3).flat_map(|p| [255 - p[0], 255 - p[1], 255 - p[2], 0]).collect();
    for form in [Jpeg::Cmyk, Jpeg::CmykAsYcck] {
        let file = jpeg_with((64, 64), form, &cmyk, |_| ());
        assert_fields(&original(&file).await.processed.original, [RED, GREEN, BLUE, WHITE]);
    }
}

#[tokio::test]
async fn a_jpeg_that_would_be_misread_is_refused() {
    let file = jpeg_with((64, 64), Jpeg::Rgb, &fields(64, 64), |encoder| {
        encoder.set_sampling_factor(jpeg_encoder::SamplingFactor::F_2_2);
        encoder.set_optimized_huffman_tables(true);
    });
    refused(&file).await;
}

#[tokio::test]
async fn grey_deep_and_cmyk_tiffs_are_read() {
    let rgb = fields(40, 40);
    let blue = |p: &[u8]| p[2];
    let greys = [RED, GREEN, BLUE, WHITE].map(|[_, _, blue, _]| [blue, blue, blue, 255]);
    let grey: Vec<u8> = rgb.chunks(3).map(blue).collect();
    let file = tiff::<colortype::Gray8>((40, 40), &grey);
    assert_fields(&original(&file).await.processed.original, greys);
    let deep: Vec<u16> = rgb.iter().map(|byte| u16::from(*byte) << 8).collect();
    let file = tiff::<colortype::RGB16>((40, 40), &deep);
    assert_fields(&original(&file).await.processed.original, [RED, GREEN, BLUE, WHITE]);
    let cmyk: Vec<u8> =
        rgb.chunks(3).flat_map(|p| [255 - p[0], 255 - p[1], 255 - p[2], 0]).collect();
    let file = tiff::<colortype::CMYK8>((40, 40), &cmyk);
    assert_fields(&original(&file).await.processed.original, [RED, GREEN, BLUE, WHITE]);
}

#[tokio::test]
async fn lossless_and_transparent_webps_are_read() {
    let rgb = fields(40, 40);
    let file = webp((40, 40), &rgb, webpx::EncoderConfig::new_lossless());
    assert_fields(&original(&file).await.processed.original, [RED, GREEN, BLUE, WHITE]);
    let rgba: Vec<u8> = rgb.chunks(3).flat_map(|p| [p[0], p[1], p[2], 100]).collect();
    for config in [lossy(), webpx::EncoderConfig::new_lossless()] {
        let file = config.encode_rgba(&rgba, 40, 40, webpx::Unstoppable).unwrap();
        let faint = [RED, GREEN, BLUE, WHITE].map(|[r, g, b, _]| [r, g, b, 100]);
        assert_fields(&original(&file).await.processed.original, faint);
    }
}

#[tokio::test]
async fn transparency_is_kept_where_it_can_be_and_laid_on_black_in_jpeg() {
    let rgba: Vec<u8> = fields(100, 100).chunks(3).flat_map(|p| [p[0], p[1], p[2], 128]).collect();
    let file = png((100, 100), ColorType::Rgba, BitDepth::Eight, &rgba);
    for (format, expected) in [("webp", [240, 240, 240, 128]), ("jpeg", [120, 120, 120, 255])] {
        let options = json!({"mode": "original-aspect", "sizes": {"s": 60}, "format": format});
        let made = made(&file, options).await;
        for output in made.outputs() {
            assert_colour(&output.file, (0.8, 0.8), expected);
        }
    }
}

#[tokio::test]
async fn what_cannot_be_seen_does_not_bleed_into_what_can() {
    // Left invisible green, right solid red: no pixel in between may turn green.
    let row = |x| if x < 64 { [0, 255, 0, 0] } else { [255, 0, 0, 255] };
    let rgba: Vec<u8> = (0..128 * 128).flat_map(|at| row(at % 128)).collect();
    let file = png((128, 128), ColorType::Rgba, BitDepth::Eight, &rgba);
    let options = json!({"mode": "original-aspect", "sizes": {"s": 63}, "format": "png"});
    let made = made(&file, options).await;
    let picture = decoded(&fs::read(&made.variant("s").file).unwrap());
    for pixel in picture.data().chunks(4) {
        assert!(pixel[3] == 0 || pixel[1] < 10, "{pixel:?}");
    }
}

#[tokio::test]
async fn contained_images_are_padded_with_nothing_or_black() {
    let file = png_fields(200, 100);
    for (format, padding) in [("webp", [0, 0, 0, 0]), ("png", [0, 0, 0, 0]), ("jpeg", BLACK)] {
        let options = json!({
            "mode": "exact-dimensions", "dimensions": {"s": {"width": 100, "height": 100}},
            "fit": "contain", "format": format,
        });
        let made = made(&file, options).await;
        let output = made.variant("s");
        assert_eq!((output.width, output.height), (100, 100));
        assert_colour(&output.file, (0.5, 0.1), padding);
        assert_colour(&output.file, (0.5, 0.9), padding);
        assert_colour(&output.file, (0.2, 0.35), RED);
        assert_colour(&output.file, (0.8, 0.65), WHITE);
    }
}

#[tokio::test]
async fn covering_cuts_off_both_sides_alike() {
    // Three stripes; the middle one is all that a square shows.
    let stripe = |x| [RED, GREEN, BLUE][x as usize / 100];
    let rgb: Vec<u8> =
        (0..300_u32 * 100).flat_map(|at| stripe(at % 300).into_iter().take(3)).collect();
    let file = png((300, 100), ColorType::Rgb, BitDepth::Eight, &rgb);
    let options = json!({
        "mode": "exact-dimensions", "dimensions": {"s": {"width": 50, "height": 50}},
    });
    let made = made(&file, options).await;
    for place in [(0.05, 0.5), (0.5, 0.5), (0.94, 0.5)] {
        assert_colour(&made.variant("s").file, place, GREEN);
    }
}

#[tokio::test]
async fn quality_decides_how_large_a_file_gets() {
    let file = png((128, 128), ColorType::Rgb, BitDepth::Eight, &noise(128 * 128 * 3));
    for format in ["webp", "jpeg"] {
        let with =
            |quality| json!({"mode": "original-aspect", "format": format, "quality": quality});
        let (low, high) = (made(&file, with(20)).await, made(&file, with(95)).await);
        assert!(low.processed.original.size * 2 < high.processed.original.size);
    }
}
