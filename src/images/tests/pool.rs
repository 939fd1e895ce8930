//! Who waits, who is told to come back, and who keeps their place.

use std::time::Duration;

use super::super::process::Processor;
use super::*;

#[tokio::test]
async fn who_waits_too_long_is_told_to_come_back() {
    let processor = Processor::new(1).with_patience(Duration::ZERO);
    let scratch = Scratch::new();
    let source = scratch.source(&png_fields(60, 60));
    let options = options(json!({"mode": "original-aspect"}));
    let attempt = || processor.process(source.clone(), options.clone(), scratch.out());
    let taken = processor.places().acquire().await.unwrap();
    assert!(matches!(attempt().await, Err(Failure::Busy)));
    drop(taken);
    assert!(attempt().await.is_ok());
}

#[tokio::test]
async fn a_bad_file_is_refused_even_when_everybody_is_busy() {
    let processor = Processor::new(1).with_patience(Duration::ZERO);
    let scratch = Scratch::new();
    let source = scratch.source(b"<svg/>");
    let _taken = processor.places().acquire().await.unwrap();
    let options = options(json!({"mode": "original-aspect"}));
    let refused = processor.process(source, options, scratch.out()).await;
    assert!(matches!(refused, Err(Failure::Invalid(_))));
}

#[tokio::test]
async fn a_large_image_takes_several_places() {
    let processor = Processor::new(3).with_patience(Duration::ZERO);
    let scratch = Scratch::new();
    // 30 megapixels of nothing: the header is all that counts here.
    let header = png_with((6000, 5000), &vec![0; 6000 * 5000 / 8], |info| {
        (info.color_type, info.bit_depth) = (png::ColorType::Grayscale, png::BitDepth::One);
    });
    let source = scratch.source(&header);
    let options = options(json!({"mode": "original-aspect"}));
    let _taken = processor.places().acquire_many(2).await.unwrap();
    let refused = processor.process(source, options, scratch.out()).await;
    assert!(matches!(refused, Err(Failure::Busy)));
}

#[tokio::test]
async fn a_place_is_kept_until_the_work_ends_even_if_nobody_waits_for_it() {
    let processor = Processor::new(1);
    let scratch = Scratch::new();
    let source = scratch.source(&jpeg((1500, 1500), &noise(1500 * 1500 * 3)));
    let options = options(json!({"mode": "original-aspect"}));
    let work = tokio::spawn({
        let (processor, into) = (processor.clone(), scratch.out());
        async move { processor.process(source, options, into).await }
    });
    while processor.places().available_permits() > 0 {
        tokio::task::yield_now().await;
    }
    work.abort();
    assert!(work.await.unwrap_err().is_cancelled());
    assert_eq!(processor.places().available_permits(), 0, "the place was free too early");
    // It comes back by itself.
    drop(processor.places().acquire().await.unwrap());
    let written = fs::read_dir(scratch.out()).unwrap().count();
    assert_eq!(written, 0, "the work went on although nobody waited");
}

#[tokio::test]
async fn a_file_that_is_not_there_is_not_the_callers_fault() {
    let scratch = Scratch::new();
    let options = options(json!({"mode": "original-aspect"}));
    let failed = Processor::new(1).process(scratch.0.join("none"), options, scratch.out()).await;
    assert!(matches!(failed, Err(Failure::Internal(_))));
}

#[tokio::test]
async fn a_directory_that_is_gone_is_not_the_callers_fault() {
    let scratch = Scratch::new();
    let source = scratch.source(&png_fields(60, 60));
    let options = options(json!({"mode": "original-aspect"}));
    let into = scratch.0.join("gone");
    assert!(matches!(
        Processor::new(1).process(source, options, into).await,
        Err(Failure::Internal(_))
    ));
}
