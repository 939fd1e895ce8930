//! Cheap repeatable randomness (SplitMix64): which user the next request asks for.

#[derive(Debug)]
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Dice(seed)
    }

    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `count`.
    pub fn draw(&mut self, count: usize) -> usize {
        let wide = u128::from(self.roll()) * count as u128;
        usize::try_from(wide >> 64).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_below_the_count_is_drawn_about_equally_often() {
        let mut dice = Dice::new(7);
        let mut drawn = [0; 10];
        for _ in 0..10_000 {
            drawn[dice.draw(10)] += 1;
        }
        assert!(drawn.iter().all(|times| (850..1150).contains(times)), "{drawn:?}");
    }
}
