//! Scheduling: which images wait, which are refused, and which keep their slot.

use std::sync::Arc;
use std::time::Duration;

use super::super::pool::{Class, Pool};
use super::*;

const MEGAPIXEL: u64 = 1_000_000;
const PHOTO: (u64, u64) = (30 * MEGAPIXEL, 180 * MEGAPIXEL);
const SMALL: (u64, u64) = (8 * MEGAPIXEL, 112 * MEGAPIXEL);
const LARGEST: (u64, u64) = (200 * MEGAPIXEL, 2_800 * MEGAPIXEL);

fn impatient(at_once: usize) -> Pool {
    Pool::new(at_once).with_patience(Duration::ZERO)
}

async fn small_job(scratch: &Scratch) -> Job {
    let source = scratch.source(&png_fields(60, 60));
    Processor::plan(source, options(json!({"mode": "original-aspect"}))).await.unwrap()
}

#[tokio::test]
async fn who_waits_too_long_is_told_to_come_back() {
    let processor = Processor::new(1).with_patience(Duration::ZERO);
    let scratch = Scratch::new();
    let lane = processor.pool().lane(Class::Small).places();
    let taken = lane.acquire().await.unwrap();
    let refused = processor.process(small_job(&scratch).await, scratch.out(), 0).await;
    assert!(matches!(refused, Err(Failure::Busy)));
    drop(taken);
    let made = processor.process(small_job(&scratch).await, scratch.out(), 0).await;
    assert!(made.is_ok());
}

#[tokio::test]
async fn a_small_image_never_waits_for_a_large_one() {
    let pool = impatient(2);
    let (pixels, bytes) = LARGEST;
    let _largest = pool.turn(pixels, bytes, 1).await.unwrap();
    assert!(pool.turn(pixels, bytes, 2).await.is_none(), "one of the largest at once");
    // Photos, which take all the memory there is for them.
    let (pixels, _) = PHOTO;
    let _photos = pool.turn(pixels, bytes, 1).await.unwrap();
    assert!(pool.turn(pixels, 1, 2).await.is_none());
    let (pixels, bytes) = SMALL;
    assert!(pool.turn(pixels, bytes, 2).await.is_some());
}

#[tokio::test]
async fn a_photo_never_waits_for_one_of_the_largest() {
    let pool = impatient(1);
    let _largest = pool.turn(LARGEST.0, LARGEST.1, 1).await.unwrap();
    assert!(pool.turn(PHOTO.0, PHOTO.1, 2).await.is_some());
}

#[tokio::test]
async fn one_owner_takes_at_most_half_of_the_places() {
    let pool = impatient(4);
    let (pixels, bytes) = SMALL;
    let first = pool.turn(pixels, bytes, 1).await.unwrap();
    let _second = pool.turn(pixels, bytes, 1).await.unwrap();
    assert!(pool.turn(pixels, bytes, 1).await.is_none());
    let _other = pool.turn(pixels, bytes, 2).await.unwrap();
    drop(first);
    assert!(pool.turn(pixels, bytes, 1).await.is_some());
}

#[tokio::test]
async fn who_has_sent_much_stands_in_nobodys_way() {
    let pool = Arc::new(Pool::new(1));
    let (pixels, bytes) = SMALL;
    let working = pool.turn(pixels, bytes, 1).await.unwrap();
    let (order, mut turns) = tokio::sync::mpsc::unbounded_channel();
    let wait = |owner: u128| {
        let (pool, order) = (pool.clone(), order.clone());
        tokio::spawn(async move {
            let turn = pool.turn(pixels, bytes, owner).await;
            order.send(owner).unwrap();
            drop(turn);
        })
    };
    let mut waiting = vec![wait(1), wait(1), wait(1)];
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
    waiting.push(wait(2));
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
    drop(working);
    assert_eq!(turns.recv().await, Some(2), "the others were all sent by who had the place");
    for one in waiting {
        one.await.unwrap();
    }
    assert_eq!(pool.lane(Class::Small).places().available_permits(), 1);
}

#[tokio::test]
async fn owners_are_forgotten_with_their_work() {
    let pool = impatient(2);
    for owner in 0..100 {
        drop(pool.turn(SMALL.0, SMALL.1, owner).await);
    }
    assert!(pool.lane(Class::Small).owners() <= 1);
}

#[tokio::test]
async fn a_place_is_kept_until_the_work_ends_even_if_nobody_waits_for_it() {
    let processor = Arc::new(Processor::new(1));
    let scratch = Scratch::new();
    let source = scratch.source(&jpeg((1500, 1500), &noise(1500 * 1500 * 3)));
    let job = Processor::plan(source, options(json!({"mode": "original-aspect"}))).await.unwrap();
    let work = tokio::spawn({
        let (processor, into) = (processor.clone(), scratch.out());
        async move { processor.process(job, into, 0).await }
    });
    let places = processor.pool().lane(Class::Small).places();
    while places.available_permits() > 0 {
        tokio::task::yield_now().await;
    }
    work.abort();
    assert!(work.await.unwrap_err().is_cancelled());
    assert_eq!(places.available_permits(), 0, "the place was free too early");
    // It comes back by itself.
    drop(places.acquire().await.unwrap());
    let written = fs::read_dir(scratch.out()).unwrap().count();
    assert_eq!(written, 0, "the work went on although nobody waited");
}

#[tokio::test]
async fn a_file_that_is_not_there_is_not_the_callers_fault() {
    let scratch = Scratch::new();
    let options = options(json!({"mode": "original-aspect"}));
    let failed = Processor::plan(scratch.0.join("none"), options).await;
    assert!(matches!(failed, Err(Failure::Internal(_))));
}

#[tokio::test]
async fn a_directory_that_is_gone_is_not_the_callers_fault() {
    let scratch = Scratch::new();
    let (job, into) = (small_job(&scratch).await, scratch.0.join("gone"));
    let failed = Processor::new(1).process(job, into, 0).await;
    assert!(matches!(failed, Err(Failure::Internal(_))));
}
