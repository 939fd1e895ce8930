//! Offset paging: `page` and `limit` in, the pagination object out.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

/// What a list allows.
#[derive(Debug, Clone, Copy)]
pub struct PageSize {
    pub default: u32,
    pub max: u32,
}

/// One requested page: `page` counts from 1, `limit` is within its maximum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page {
    pub page: u32,
    pub limit: u32,
}

/// Invalid numbers are ignored.
pub fn limit_or_default(text: Option<&str>, size: PageSize) -> u32 {
    let number = text.and_then(|text| text.parse().ok()).filter(|number: &u64| *number > 0);
    number.map_or(size.default, |number| u32::try_from(number).unwrap_or(u32::MAX)).min(size.max)
}

impl Page {
    /// Names the parameter that is not a positive integer; a `limit` over the maximum is lowered to it.
    pub fn from_query(query: &Value, size: PageSize) -> Result<Page, &'static str> {
        let number = |key: &'static str, default: u32| match query.get(key).and_then(Value::as_str)
        {
            None => Ok(default),
            Some(text) => match text.parse::<u64>() {
                Ok(0) | Err(_) => Err(key),
                Ok(number) => Ok(u32::try_from(number).unwrap_or(u32::MAX)),
            },
        };
        Ok(Page { page: number("page", 1)?, limit: number("limit", size.default)?.min(size.max) })
    }

    /// The same, but invalid numbers are ignored.
    pub fn or_default(query: &Value, size: PageSize) -> Page {
        let text = |key: &str| query.get(key).and_then(Value::as_str);
        let page = limit_or_default(text("page"), PageSize { default: 1, max: u32::MAX });
        Page { page, limit: limit_or_default(text("limit"), size) }
    }

    pub fn offset(self) -> i64 {
        i64::from(self.page - 1) * i64::from(self.limit)
    }

    /// The page out of parts of a list that follow each other. `read` takes a limit and how many to skip. Once a
    /// part has ended its size is known, or is smaller than what was skipped and so quickly counted.
    pub fn of_parts<P, T, E>(
        self,
        parts: &[P],
        mut read: impl FnMut(&P, i64, i64) -> Result<Vec<T>, E>,
        count: impl Fn(&P) -> Result<i64, E>,
    ) -> Result<Vec<T>, E> {
        let (mut skip, mut left) = (self.offset(), i64::from(self.limit));
        let mut found = Vec::new();
        for (n, part) in parts.iter().enumerate() {
            let rows = read(part, left, skip)?;
            let length = i64::try_from(rows.len()).unwrap_or(i64::MAX);
            found.extend(rows);
            left -= length;
            if left == 0 || n + 1 == parts.len() {
                break;
            }
            skip = if length > 0 || skip == 0 { 0 } else { skip - count(part)? };
        }
        Ok(found)
    }

    /// The other form of a list, with `limit` and `total`.
    pub fn of_limited<T>(self, data: Vec<T>, total: i64) -> LimitPaged<T> {
        let Paged { data, pagination } = self.of(data, total);
        let Pagination { page, page_size, total_pages, total_items, has_more } = pagination;
        let (limit, total) = (page_size, total_items);
        let pagination =
            LimitPagination { page, page_size, limit, total_pages, total_items, total, has_more };
        LimitPaged { data, pagination }
    }

    pub fn of<T>(self, data: Vec<T>, total_items: i64) -> Paged<T> {
        // Never negative: total and hidden entries may be read at different moments.
        let total_items = total_items.max(0);
        let total_pages = (total_items + i64::from(self.limit) - 1) / i64::from(self.limit);
        let pagination = Pagination {
            page: self.page,
            page_size: self.limit,
            total_pages,
            total_items,
            has_more: i64::from(self.page) < total_pages,
        };
        Paged { data, pagination }
    }
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "{T}Page")]
pub struct Paged<T> {
    pub data: Vec<T>,
    pub pagination: Pagination,
}

#[derive(Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Pagination {
    pub page: u32,
    pub page_size: u32,
    pub total_pages: i64,
    pub total_items: i64,
    pub has_more: bool,
}

/// A list of reactions, which has a pagination object of its own.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "{T}Page")]
pub struct LimitPaged<T> {
    pub data: Vec<T>,
    pub pagination: LimitPagination,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "ReactionPagination")]
pub struct LimitPagination {
    pub page: u32,
    pub page_size: u32,
    /// The same as `pageSize`.
    pub limit: u32,
    pub total_pages: i64,
    pub total_items: i64,
    /// The same as `totalItems`.
    pub total: i64,
    pub has_more: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::query::pairs;

    fn page(query: &str) -> Result<Page, &'static str> {
        Page::from_query(&pairs(query), PageSize { default: 20, max: 100 })
    }

    #[test]
    fn defaults_clamping_and_refusals() {
        assert_eq!(page(""), Ok(Page { page: 1, limit: 20 }));
        assert_eq!(page("page=3&limit=500"), Ok(Page { page: 3, limit: 100 }));
        assert_eq!(page("limit=5000000000"), Ok(Page { page: 1, limit: 100 }));
        assert_eq!(page("page=0"), Err("page"));
        assert_eq!(page("limit=x"), Err("limit"));
        assert_eq!(page("limit=-1"), Err("limit"));
        assert_eq!(page("page=1.5"), Err("page"));
    }

    #[test]
    fn lists_that_refuse_nothing_fall_back_to_defaults() {
        let size = PageSize { default: 20, max: 100 };
        let page = |query: &str| Page::or_default(&pairs(query), size);
        assert_eq!(page("page=3&limit=500"), Page { page: 3, limit: 100 });
        for wrong in ["", "page=0&limit=0", "page=x&limit=-1", "page=1.5&limit="] {
            assert_eq!(page(wrong), Page { page: 1, limit: 20 }, "{wrong}");
        }
    }

    #[test]
    fn pagination_of_full_last_and_empty_pages() {
        let at = |page, total| Page { page, limit: 20 }.of(Vec::<()>::new(), total).pagination;
        assert_eq!((at(1, 0).total_pages, at(1, 0).has_more), (0, false));
        assert_eq!((at(1, 40).total_pages, at(1, 40).has_more), (2, true));
        assert_eq!((at(2, 40).total_pages, at(2, 40).has_more), (2, false));
        assert_eq!((at(9, 41).total_pages, at(9, 41).has_more), (3, false));
        assert_eq!(Page { page: u32::MAX, limit: 100 }.offset(), 429_496_729_400);
    }
}
