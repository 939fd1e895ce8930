//! From the facts of a page to its metadata: Open Graph first, then Twitter cards, then plain HTML. Pure;
//! bounds every list and text of the reply.

use url::Url;

use super::model::{
    AndroidApp, AppLinks, Article, Audio, Book, Image, IosApp, Music, Player, Profile, Twitter,
    UrlMetadata, Video, WebApp,
};
use super::page::Page;
use super::text::{app_url, clean_object, plain, web_url};

const MAX_ITEMS: usize = 20;
const MAX_TITLE: usize = 300;
const MAX_DESCRIPTION: usize = 1000;
const MAX_SHORT: usize = 200;

/// `url` is the final address after redirects, `requested` the one in the request.
pub(super) fn extract(page: Page, url: &Url, requested: &str) -> UrlMetadata {
    let base = page.base.as_deref().and_then(|base| url.join(base).ok());
    let facts = Facts { page: &page, base: base.as_ref().unwrap_or(url) };
    let title = page.title.as_deref().and_then(|title| plain(title, MAX_TITLE));
    let twitter = facts.twitter();
    let canonical = facts.link("canonical").or_else(|| facts.web_url("og:url"));
    let json_ld: Vec<_> = page.json_ld.iter().cloned().map(clean_object).collect();
    UrlMetadata {
        title: facts.text("og:title", MAX_TITLE).or_else(|| twitter.title.clone()).or(title),
        description: facts
            .text("og:description", MAX_DESCRIPTION)
            .or_else(|| twitter.description.clone())
            .or_else(|| facts.text("description", MAX_DESCRIPTION)),
        site_name: facts.short("og:site_name").or_else(|| facts.short("application-name")),
        kind: facts.short("og:type"),
        locale: facts
            .short("og:locale")
            .or_else(|| page.lang.as_deref().and_then(|lang| plain(lang, MAX_SHORT))),
        charset: Some(page.charset.clone()),
        favicon: facts.link("icon").or_else(|| facts.link("apple-touch-icon")),
        url: canonical.unwrap_or_else(|| requested.to_owned()),
        images: facts.images("og:image"),
        videos: facts.videos(),
        audio: facts.audio(),
        twitter,
        article: facts.article(),
        app_links: facts.app_links(),
        book: facts.book(),
        music: facts.music(),
        profile: facts.profile(),
        json_ld: (!json_ld.is_empty()).then_some(json_ld),
        request_url: requested.to_owned(),
        success: true,
    }
}

struct Facts<'a> {
    page: &'a Page,
    base: &'a Url,
}

/// An image, video, audio or player while its properties are collected.
#[derive(Debug, Default)]
struct Media {
    url: String,
    width: Option<u32>,
    height: Option<u32>,
    media_type: Option<String>,
    alt: Option<String>,
}

impl Facts<'_> {
    fn first(&self, key: &str) -> Option<&str> {
        self.page.metas.iter().find(|(k, _)| k == key).map(|(_, content)| content.as_str())
    }

    fn text(&self, key: &str, most: usize) -> Option<String> {
        let mut values = self.page.metas.iter().filter(|(k, _)| k == key);
        values.find_map(|(_, content)| plain(content, most))
    }

    fn short(&self, key: &str) -> Option<String> {
        self.text(key, MAX_SHORT)
    }

    fn web_url(&self, key: &str) -> Option<String> {
        web_url(self.base, self.first(key)?)
    }

    /// The first usable link with this word in its `rel`.
    fn link(&self, word: &str) -> Option<String> {
        let mut links = self.page.links.iter();
        links.find_map(|(rel, href)| {
            rel.split_ascii_whitespace().any(|w| w == word).then(|| web_url(self.base, href))?
        })
    }

    /// The structured properties of Open Graph: `og:image` begins an image, and `og:image:width` and the like
    /// belong to the latest one. An image without a valid address is dropped with all its properties.
    fn media(&self, root: &str) -> Vec<Media> {
        let mut found: Vec<Media> = Vec::new();
        let mut usable = false;
        for (key, content) in &self.page.metas {
            let Some(property) = key.strip_prefix(root) else { continue };
            if matches!(property, "" | ":src") || (property == ":url" && !usable) {
                if found.len() == MAX_ITEMS {
                    break;
                }
                let url = web_url(self.base, content);
                usable = url.is_some();
                found.extend(url.map(|url| Media { url, ..Media::default() }));
                continue;
            }
            let Some(last) = found.last_mut().filter(|_| usable) else { continue };
            match property {
                ":width" => last.width = content.trim().parse().ok(),
                ":height" => last.height = content.trim().parse().ok(),
                ":type" => last.media_type = plain(content, MAX_SHORT),
                ":alt" => last.alt = plain(content, MAX_TITLE),
                _ => {}
            }
        }
        found
    }

    fn images(&self, root: &str) -> Vec<Image> {
        let image = |media: Media| {
            let Media { url, width, height, media_type, alt } = media;
            Image { url, width, height, media_type, alt }
        };
        self.media(root).into_iter().map(image).collect()
    }

    fn videos(&self) -> Vec<Video> {
        let video = |media: Media| {
            let Media { url, width, height, media_type, .. } = media;
            Video { url, width, height, media_type }
        };
        self.media("og:video").into_iter().map(video).collect()
    }

    fn audio(&self) -> Vec<Audio> {
        let audio = |media: Media| Audio { url: media.url, media_type: media.media_type };
        self.media("og:audio").into_iter().map(audio).collect()
    }

    fn twitter(&self) -> Twitter {
        let player =
            |media: Media| Player { url: media.url, width: media.width, height: media.height };
        Twitter {
            card: self.short("twitter:card"),
            site: self.short("twitter:site"),
            creator: self.short("twitter:creator"),
            title: self.text("twitter:title", MAX_TITLE),
            description: self.text("twitter:description", MAX_DESCRIPTION),
            images: self.images("twitter:image"),
            players: self.media("twitter:player").into_iter().map(player).collect(),
        }
    }

    fn article(&self) -> Article {
        Article {
            published_time: self.short("article:published_time"),
            modified_time: self.short("article:modified_time"),
            expiration_time: self.short("article:expiration_time"),
            author: self.short("article:author"),
            section: self.short("article:section"),
            tag: self.short("article:tag"),
        }
    }

    fn app_links(&self) -> AppLinks {
        let app = |key| self.first(key).and_then(app_url);
        AppLinks {
            ios: said(IosApp {
                url: app("al:ios:url"),
                app_store_id: self.short("al:ios:app_store_id"),
                app_name: self.short("al:ios:app_name"),
            }),
            android: said(AndroidApp {
                url: app("al:android:url"),
                package: self.short("al:android:package"),
                app_name: self.short("al:android:app_name"),
            }),
            web: said(WebApp {
                url: self.web_url("al:web:url"),
                should_fallback: self
                    .first("al:web:should_fallback")
                    .map(|text| !text.trim().eq_ignore_ascii_case("false")),
            }),
        }
    }

    fn book(&self) -> Option<Book> {
        said(Book {
            author: self.short("book:author"),
            tag: self.short("book:tag"),
            isbn: self.short("book:isbn"),
            release_date: self.short("book:release_date"),
        })
    }

    fn music(&self) -> Option<Music> {
        said(Music {
            album: self.short("music:album"),
            musician: self.short("music:musician"),
            duration: self.short("music:duration"),
            release_date: self.short("music:release_date"),
            creator: self.short("music:creator"),
        })
    }

    fn profile(&self) -> Option<Profile> {
        said(Profile {
            first_name: self.short("profile:first_name"),
            last_name: self.short("profile:last_name"),
            username: self.short("profile:username"),
            gender: self.short("profile:gender"),
        })
    }
}

/// `None` for a group without any values.
fn said<T: Default + PartialEq>(group: T) -> Option<T> {
    (group != T::default()).then_some(group)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(html: &str) -> UrlMetadata {
        let url = Url::parse("https://example.com/dir/page").unwrap();
        extract(Page::read(html.as_bytes(), None), &url, "https://example.com/asked")
    }

    #[test]
    fn open_graph_wins_over_twitter_and_that_over_plain_html() {
        let plain = "<title>plain</title><meta name=description content='plain text'>";
        let twitter = "<meta name=twitter:title content=card>";
        let graph = "<meta property=og:title content=graph>";
        assert_eq!(read(plain).title.as_deref(), Some("plain"));
        assert_eq!(read(plain).description.as_deref(), Some("plain text"));
        assert_eq!(read(&[plain, twitter].concat()).title.as_deref(), Some("card"));
        assert_eq!(read(&[plain, twitter, graph].concat()).title.as_deref(), Some("graph"));
        let blank = "<meta property=og:title content=' '>";
        assert_eq!(read(&[blank, plain].concat()).title.as_deref(), Some("plain"));
    }

    #[test]
    fn properties_belong_to_the_picture_before_them() {
        let found = read(
            "<meta property=og:image:width content=9><meta property=og:image content=/a.png>\
             <meta property=og:image:width content=640><meta property=og:image:height content=x>\
             <meta property=og:image:alt content='An <i>A</i>'>\
             <meta property=og:image content='javascript:alert(1)'>\
             <meta property=og:image:width content=7>\
             <meta property=og:image content=b.png><meta property=og:image:type content=image/png>",
        );
        let (first, second) = (&found.images[0], &found.images[1]);
        assert_eq!(found.images.len(), 2);
        assert_eq!((first.url.as_str(), first.width), ("https://example.com/a.png", Some(640)));
        assert_eq!((first.height, first.alt.as_deref()), (None, Some("An A")));
        assert_eq!(second.url, "https://example.com/dir/b.png");
        assert_eq!((second.width, second.media_type.as_deref()), (None, Some("image/png")));
    }

    #[test]
    fn og_image_url_is_another_name_for_the_picture_and_not_a_second_one() {
        let alone = read("<meta property=og:image:url content=/a.png>");
        assert_eq!(alone.images.len(), 1);
        let both =
            "<meta property=og:image content=/a.png><meta property=og:image:url content=/a.png>";
        assert_eq!(read(both).images.len(), 1);
    }

    #[test]
    fn lists_are_cut() {
        let many = "<meta property=og:image content=/x><meta property=og:video content=/x>\
                    <meta name=twitter:player content=/x>"
            .repeat(300);
        let found = read(&many);
        assert_eq!((found.images.len(), found.videos.len()), (MAX_ITEMS, MAX_ITEMS));
        assert_eq!(found.twitter.players.len(), MAX_ITEMS);
    }

    #[test]
    fn addresses_are_read_against_the_base_of_the_page() {
        let found = read("<base href=//cdn.example/x/><link rel='Shortcut Icon' href=i.ico>");
        assert_eq!(found.favicon.as_deref(), Some("https://cdn.example/x/i.ico"));
        assert_eq!(found.url, "https://example.com/asked");
        let canonical = read("<link rel=canonical href=/real>");
        assert_eq!(canonical.url, "https://example.com/real");
    }

    #[test]
    fn an_icon_alone_is_no_content() {
        assert!(!read("<html lang=en><link rel=icon href=/i.ico>").has_content());
        assert!(!read("").has_content());
        assert!(read("<title>x</title>").has_content());
        assert!(read("<meta name=profile:username content=ada>").has_content());
    }
}
