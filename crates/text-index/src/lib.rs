//! What a search index is made of, without a word of the domain and without a database: the words of a text and the
//! terms they are found by ([`Analyzer`]), postings in blocks ([`postings`]), BM25 scores ([`Bm25`], [`Scores`]),
//! spelling ([`spelling`]), vectors of meaning ([`vectors`]), highlights and the best passages of a text ([`passages`]).

mod analysis;
mod bits;
mod document;
mod highlight;
mod language;
pub mod passages;
pub mod postings;
mod query;
mod ranking;
mod scores;
pub mod spelling;
mod varint;
pub mod vectors;

pub use analysis::{Analyzer, Word};
pub use document::{Document, StoredWords, pack_numbers};
pub use highlight::{Span, highlights};
pub use language::Language;
pub use query::{QueryWord, query_words};
pub use ranking::Ranking;
pub use scores::{Bm25, Filter, Scores, Statistics, fused};
