//! The metadata of a page in one fixed shape: every key is always present, null or empty if the page has no
//! value.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UrlMetadata {
    pub title: Option<String>,
    pub description: Option<String>,
    pub site_name: Option<String>,
    #[serde(rename = "type")]
    pub kind: Option<String>,
    pub locale: Option<String>,
    pub charset: Option<String>,
    pub favicon: Option<String>,
    /// The canonical address, or else the requested one.
    pub url: String,
    pub images: Vec<Image>,
    pub videos: Vec<Video>,
    pub audio: Vec<Audio>,
    pub twitter: Twitter,
    pub article: Article,
    pub app_links: AppLinks,
    pub book: Option<Book>,
    pub music: Option<Music>,
    pub profile: Option<Profile>,
    pub json_ld: Option<Vec<Map<String, Value>>>,
    pub request_url: String,
    pub success: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
#[schemars(rename = "LinkImage")]
pub struct Image {
    pub url: String,
    pub width: Option<u32>,
    pub height: Option<u32>,
    #[serde(rename = "type")]
    pub media_type: Option<String>,
    pub alt: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Video {
    pub url: String,
    pub width: Option<u32>,
    pub height: Option<u32>,
    #[serde(rename = "type")]
    pub media_type: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Audio {
    pub url: String,
    #[serde(rename = "type")]
    pub media_type: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Player {
    pub url: String,
    pub width: Option<u32>,
    pub height: Option<u32>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Twitter {
    pub card: Option<String>,
    pub site: Option<String>,
    pub creator: Option<String>,
    pub title: Option<String>,
    pub description: Option<String>,
    pub images: Vec<Image>,
    pub players: Vec<Player>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Article {
    pub published_time: Option<String>,
    pub modified_time: Option<String>,
    pub expiration_time: Option<String>,
    pub author: Option<String>,
    pub section: Option<String>,
    pub tag: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct AppLinks {
    pub ios: Option<IosApp>,
    pub android: Option<AndroidApp>,
    pub web: Option<WebApp>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IosApp {
    pub url: Option<String>,
    pub app_store_id: Option<String>,
    pub app_name: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AndroidApp {
    pub url: Option<String>,
    pub package: Option<String>,
    pub app_name: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WebApp {
    pub url: Option<String>,
    pub should_fallback: Option<bool>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Book {
    pub author: Option<String>,
    pub tag: Option<String>,
    pub isbn: Option<String>,
    pub release_date: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Music {
    pub album: Option<String>,
    pub musician: Option<String>,
    pub duration: Option<String>,
    pub release_date: Option<String>,
    pub creator: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "LinkProfile")]
pub struct Profile {
    pub first_name: Option<String>,
    pub last_name: Option<String>,
    pub username: Option<String>,
    pub gender: Option<String>,
}

impl UrlMetadata {
    /// Whether the page has any content metadata; an icon and a charset do not count.
    pub fn has_content(&self) -> bool {
        let nothing = UrlMetadata {
            url: self.url.clone(),
            request_url: self.request_url.clone(),
            success: self.success,
            kind: self.kind.clone(),
            locale: self.locale.clone(),
            charset: self.charset.clone(),
            favicon: self.favicon.clone(),
            ..UrlMetadata::default()
        };
        *self != nothing
    }
}
