//! Metadata: orientation, place, color profile, and the frames of an animation.

use image::metadata::Orientation;
use moxcms::ColorProfile;

use super::*;

const PLACE: &[u8] = b"47.4979N 19.0402E";
const XMP: &[u8] = b"http://ns.adobe.com/xap/1.0/\0<x:xmpmeta>47.4979N 19.0402E</x:xmpmeta>";

/// A directory of an EXIF block with one entry after the other: tag, type, count and value.
fn directory(entries: &[(u16, u16, u32, u32)]) -> Vec<u8> {
    let mut bytes = (entries.len() as u16).to_le_bytes().to_vec();
    for (tag, kind, count, value) in entries {
        bytes.extend(tag.to_le_bytes());
        bytes.extend(kind.to_le_bytes());
        bytes.extend(count.to_le_bytes());
        bytes.extend(value.to_le_bytes());
    }
    bytes.extend([0; 4]);
    bytes
}

/// An EXIF block with an orientation and a GPS position.
fn exif(orientation: u32) -> Vec<u8> {
    let start = b"II*\0\x08\0\0\0";
    let gps_at = (start.len() + directory(&[(0, 0, 0, 0); 2]).len()) as u32;
    let main = directory(&[(0x0112, 3, 1, orientation), (0x8825, 4, 1, gps_at)]);
    let place_at = gps_at + directory(&[(0, 0, 0, 0)]).len() as u32;
    let gps = directory(&[(0x001b, 7, PLACE.len() as u32, place_at)]);
    [start, &main[..], &gps, PLACE].concat()
}

fn holds(file: &Path, bytes: &[u8]) -> bool {
    fs::read(file).unwrap().windows(bytes.len()).any(|window| window == bytes)
}

/// The same image with the same metadata in every format that can carry it.
fn tagged(orientation: u32) -> [(&'static str, Vec<u8>); 3] {
    let rgb = fields(80, 60);
    let block = exif(orientation);
    [
        (
            "jpeg",
            jpeg_with((80, 60), jpeg_encoder::ColorType::Rgb, &rgb, |encoder| {
                encoder.add_exif_metadata(&block).unwrap();
                encoder.add_app_segment(1, XMP.to_vec()).unwrap();
            }),
        ),
        (
            "png",
            png_with((80, 60), &rgb, |info| {
                info.exif_metadata = Some(block.clone().into());
                let text = String::from_utf8_lossy(PLACE).into_owned();
                info.utf8_text.push(png::text_metadata::ITXtChunk::new("Comment", text));
            }),
        ),
        ("webp", webp((80, 60), &rgb, lossy().exif(block.clone()).xmp(XMP))),
    ]
}

#[tokio::test]
async fn every_orientation_is_applied_in_every_format() {
    // Where the red, green, blue and white fields appear, for each value of the tag.
    for (orientation, expected) in [
        (1, [RED, GREEN, BLUE, WHITE]),
        (2, [GREEN, RED, WHITE, BLUE]),
        (3, [WHITE, BLUE, GREEN, RED]),
        (4, [BLUE, WHITE, RED, GREEN]),
        (5, [RED, BLUE, GREEN, WHITE]),
        (6, [BLUE, RED, WHITE, GREEN]),
        (7, [WHITE, GREEN, BLUE, RED]),
        (8, [GREEN, WHITE, RED, BLUE]),
    ] {
        for (name, file) in tagged(orientation) {
            let options = json!({
                "mode": "aspect-ratio-width-based", "widths": {"s": 50}, "format": "png",
            });
            let made = made(&file, options).await;
            let (size, small) =
                if orientation >= 5 { ((60, 80), (50, 67)) } else { ((80, 60), (50, 38)) };
            assert_eq!((made.processed.width, made.processed.height), size, "{name}");
            assert_eq!((made.variant("s").width, made.variant("s").height), small, "{name}");
            for output in made.outputs() {
                assert_colour(&output.file, (0.2, 0.2), expected[0]);
                assert_colour(&output.file, (0.8, 0.2), expected[1]);
                assert_colour(&output.file, (0.2, 0.8), expected[2]);
                assert_colour(&output.file, (0.8, 0.8), expected[3]);
            }
        }
    }
}

#[tokio::test]
async fn where_a_photo_was_taken_is_removed_from_everything() {
    for (name, file) in tagged(6) {
        for format in ["webp", "jpeg", "png"] {
            let options = json!({"mode": "original-aspect", "sizes": {"s": 50}, "format": format});
            let made = made(&file, options).await;
            for output in made.outputs() {
                assert!(!holds(&output.file, PLACE), "{name} to {format}");
                assert!(header(&fs::read(&output.file).unwrap()).exif.is_none());
            }
        }
    }
}

#[tokio::test]
async fn exif_is_kept_when_asked_for_but_nothing_is_turned_twice() {
    for (name, file) in tagged(6) {
        for format in ["webp", "jpeg", "png"] {
            let options = json!({
                "mode": "original-aspect", "sizes": {"s": 50}, "format": format,
                "stripExif": false,
            });
            let made = made(&file, options).await;
            for output in made.outputs() {
                let written = header(&fs::read(&output.file).unwrap());
                assert_eq!(written.exif.as_deref(), Some(&exif(1)[..]), "{name} to {format}");
                assert_eq!(written.orientation, Orientation::NoTransforms);
                assert_colour(&output.file, (0.2, 0.2), BLUE);
                assert!(!holds(&output.file, b"xmpmeta"), "{name} to {format}");
            }
        }
    }
}

#[tokio::test]
async fn an_exif_block_that_makes_no_sense_is_no_obstacle() {
    for block in [&b""[..], b"II*\0\xff\xff\xff\xff", b"nonsense", &exif(6)[..20], &exif(9)] {
        let file = png_with((60, 60), &fields(60, 60), |info| {
            info.exif_metadata = Some(block.to_vec().into());
        });
        let options = json!({"mode": "original-aspect", "stripExif": false});
        let made = made(&file, options).await;
        assert_colour(&made.processed.original.file, (0.2, 0.2), RED);
    }
}

#[tokio::test]
async fn a_tiff_is_turned_as_it_says() {
    let mut file = Cursor::new(Vec::new());
    let mut encoder = tiff::encoder::TiffEncoder::new(&mut file).unwrap();
    let mut image = encoder.new_image::<tiff::encoder::colortype::RGB8>(80, 60).unwrap();
    image.encoder().write_tag(tiff::tags::Tag::Orientation, 6_u16).unwrap();
    image.write_data(&fields(80, 60)).unwrap();
    let made = made(&file.into_inner(), json!({"mode": "original-aspect"})).await;
    assert_eq!((made.processed.width, made.processed.height), (60, 80));
    assert_colour(&made.processed.original.file, (0.2, 0.2), BLUE);
}

#[tokio::test]
async fn colours_of_a_wide_profile_are_brought_to_srgb() {
    // What sRGB calls this orange has other numbers in Display P3.
    let profile = ColorProfile::new_display_p3().encode().unwrap();
    let rgb = [200, 120, 60].repeat(64 * 64);
    let files = [
        jpeg_with((64, 64), jpeg_encoder::ColorType::Rgb, &rgb, |encoder| {
            encoder.add_icc_profile(&profile).unwrap();
        }),
        png_with((64, 64), &rgb, |info| info.icc_profile = Some(profile.clone().into())),
        webp((64, 64), &rgb, lossy().icc_profile(profile.clone())),
    ];
    for file in files {
        let made = made(&file, json!({"mode": "original-aspect", "format": "png"})).await;
        let [red, green, blue, _] = colour(&made.processed.original.file, 0.5, 0.5);
        assert!(red.abs_diff(213) <= 4, "{red}");
        assert!(green.abs_diff(117) <= 4, "{green}");
        assert!(blue.abs_diff(44) <= 6, "{blue}");
        assert!(!holds(&made.processed.original.file, b"iCCP"));
    }
}

#[tokio::test]
async fn a_profile_that_makes_no_sense_is_disregarded() {
    let grey = ColorProfile::new_gray_with_gamma(1.0).encode().unwrap();
    for profile in [vec![0; 200], b"nonsense".to_vec(), grey] {
        let file = png_with((60, 60), &fields(60, 60), |info| {
            info.icc_profile = Some(profile.into());
        });
        let made = made(&file, json!({"mode": "original-aspect"})).await;
        assert_colour(&made.processed.original.file, (0.2, 0.2), RED);
    }
}

/// An animated WebP of lossless frames, put together by hand.
fn animated_webp(size: (u32, u32), frames: &[&[u8]]) -> Vec<u8> {
    let chunk = |name: &[u8], content: &[u8]| {
        [name, &(content.len() as u32).to_le_bytes(), content, &[0][..content.len() % 2]].concat()
    };
    let edge = |edge: u32| (edge - 1).to_le_bytes()[..3].to_vec();
    let (width, height) = (edge(size.0), edge(size.1));
    let mut body = chunk(b"VP8X", &[&[2, 0, 0, 0][..], &width, &height].concat());
    body.extend(chunk(b"ANIM", &[0; 6]));
    for frame in frames {
        let encoded = webp(size, frame, webpx::EncoderConfig::new_lossless());
        let place = [&[0; 6][..], &width, &height, &[100, 0, 0, 0]].concat();
        body.extend(chunk(b"ANMF", &[&place, &encoded[12..]].concat()));
    }
    chunk(b"RIFF", &[b"WEBP", &body[..]].concat())
}

fn animated_png(size: (u32, u32), frames: &[&[u8]]) -> Vec<u8> {
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, size.0, size.1);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_animated(frames.len() as u32, 0).unwrap();
    let mut writer = encoder.write_header().unwrap();
    frames.iter().for_each(|frame| writer.write_image_data(frame).unwrap());
    writer.finish().unwrap();
    file
}

#[tokio::test]
async fn of_an_animation_the_first_frame_is_shown() {
    let (first, second) = (fields(60, 60), vec![0; 60 * 60 * 3]);
    let mut gif = gif((60, 60), &first, 1);
    gif.pop();
    // The second file's frame, without its header: ten bytes more than the size.
    let other = super::gif((60, 60), &second, 1);
    gif.extend(&other[13..]);
    let frames = [&first[..], &second];
    for file in [gif, animated_png((60, 60), &frames), animated_webp((60, 60), &frames)] {
        let made = made(&file, json!({"mode": "original-aspect"})).await;
        assert_colour(&made.processed.original.file, (0.2, 0.2), RED);
        assert_colour(&made.processed.original.file, (0.8, 0.8), WHITE);
    }
}
