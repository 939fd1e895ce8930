//! Upload Image: a picture of about a megabyte, with one variant.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use db::Db;
use images::{Failure, MissingKey, Options, Processor};

use crate::dice::Dice;
use crate::fixture::Fixture;
use crate::scenario::{Bare, Scenario};

const BOUNDARY: &str = "bench-7MA4YWxkTrZu0gW";
/// Noise does not compress: three bytes for each pixel.
const WIDTH: u32 = 720;
const HEIGHT: u32 = 480;
const UPLOADERS: usize = 100;

pub const SCENARIO: Scenario = Scenario {
    name: "upload-image",
    about: "POST /storage/images, a picture of 1 MB with one variant",
    expected_status: &[201],
    requests,
    bare,
};

fn picture() -> Vec<u8> {
    let mut dice = Dice::new(7);
    let noise: Vec<u8> =
        (0..WIDTH * HEIGHT * 3).map(|_| u8::try_from(dice.draw(256)).unwrap_or(0)).collect();
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, WIDTH, HEIGHT);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    // Writing to memory cannot fail; a picture that is none would be refused and counted.
    let _ = encoder.write_header().and_then(|mut writer| writer.write_image_data(&noise));
    file
}

fn requests(fixture: &Fixture) -> Vec<Vec<u8>> {
    let mut body = Vec::new();
    for (name, value) in [("mode", "original-aspect"), ("sizes", r#"{"small":400}"#)] {
        body.extend_from_slice(
            format!(
                "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n"
            )
            .as_bytes(),
        );
    }
    body.extend_from_slice(
        format!(
            "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.png\"\r\n\
             Content-Type: image/png\r\n\r\n"
        )
        .as_bytes(),
    );
    body.extend_from_slice(&picture());
    body.extend_from_slice(format!("\r\n--{BOUNDARY}--\r\n").as_bytes());
    let path = format!("/v8/{}/storage/images", fixture.project);
    let request = |token: String| {
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n\
             content-type: multipart/form-data; boundary={BOUNDARY}\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        [head.as_bytes(), &body].concat()
    };
    fixture.users.iter().take(UPLOADERS).map(|user| request(fixture.token(*user))).collect()
}

/// The work on the picture alone: nothing is received, stored or written down.
fn bare(_: &Fixture, _: &Db) -> Vec<Bare> {
    let directory = std::env::temp_dir().join(format!("townhall-bench-{}", std::process::id()));
    let source = directory.join("source.png");
    let written = std::fs::create_dir_all(&directory)
        .and_then(|()| std::fs::write(&source, picture()))
        .map_err(|error| error.to_string());
    let cores = std::thread::available_parallelism().map_or(2, usize::from);
    let processor = Arc::new(Processor::new(cores));
    let next = Arc::new(AtomicU64::new(0));
    let process = Bare::new("processing", move |_| {
        let (processor, source, written) = (processor.clone(), source.clone(), written.clone());
        let into = directory.join(next.fetch_add(1, Relaxed).to_string());
        async move {
            written?;
            let done = process(&processor, source, into.clone()).await;
            let _ = std::fs::remove_dir_all(into);
            done.map(|()| Vec::new())
        }
    });
    vec![process]
}

async fn process(processor: &Processor, source: PathBuf, into: PathBuf) -> Result<(), String> {
    let fields = serde_json::json!({ "mode": "original-aspect", "sizes": { "small": 400 } });
    let fields = fields.as_object().cloned().unwrap_or_default();
    let options = Options::parse(&fields, MissingKey::Refused)?;
    std::fs::create_dir_all(&into).map_err(|error| error.to_string())?;
    let failed = |failure: Failure| format!("{failure:?}");
    let job = Processor::plan(source, options).await.map_err(failed)?;
    processor.process(job, into, 0).await.map(drop).map_err(failed)
}
