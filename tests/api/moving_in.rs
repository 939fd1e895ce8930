//! `townhall import` from other systems, with files as their formats are described in public.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::moving::{import, project_of, sound};
use crate::support::{Installation, Running, fresh_directory, installed_on_both_engines};

installed_on_both_engines![
    a_wordpress_site_moves_in,
    a_disqus_forum_moves_in,
    users_and_posts_come_as_csv,
    hostile_xml_is_refused,
];

fn file(name: &str, text: &str) -> PathBuf {
    let path = fresh_directory().join(name);
    std::fs::write(&path, text).unwrap();
    path
}

/// A reply of the project's API to its key.
struct Api {
    running: Running,
    project: String,
    key: String,
}

impl Api {
    fn of(town: &Installation, project: &str) -> Api {
        let made = town.json(&["key", "create", "--project", project, "--kind", "service"]);
        let key = made["key"].as_str().unwrap().to_owned();
        Api { running: town.serve(), project: project.to_owned(), key }
    }

    #[track_caller]
    fn get(&self, path: &str) -> Value {
        let path = format!("/v8/{}{path}", self.project);
        let (status, body) = self.running.request("GET", &path, &self.key, "");
        assert_eq!(status, 200, "{path}: {body}");
        serde_json::from_str(&body).unwrap()
    }
}

fn reasons(report: &Value) -> Vec<(String, u64)> {
    let of =
        |one: &Value| (one["reason"].as_str().unwrap().to_owned(), one["count"].as_u64().unwrap());
    report["leftOut"].as_array().unwrap().iter().map(of).collect()
}

/// A comment in WXR.
fn wp_comment(
    id: u32,
    parent: u32,
    approved: &str,
    kind: &str,
    (name, email): (&str, &str),
    user: u32,
) -> String {
    format!(
        "<wp:comment>
            <wp:comment_id>{id}</wp:comment_id>
            <wp:comment_author><![CDATA[{name}]]></wp:comment_author>
            <wp:comment_author_email><![CDATA[{email}]]></wp:comment_author_email>
            <wp:comment_author_url></wp:comment_author_url>
            <wp:comment_author_IP><![CDATA[192.0.2.1]]></wp:comment_author_IP>
            <wp:comment_date><![CDATA[2021-03-04 06:0{}:00]]></wp:comment_date>
            <wp:comment_date_gmt><![CDATA[2021-03-04 05:0{}:00]]></wp:comment_date_gmt>
            <wp:comment_content><![CDATA[comment {id} & <b>more</b>]]></wp:comment_content>
            <wp:comment_approved><![CDATA[{approved}]]></wp:comment_approved>
            <wp:comment_type><![CDATA[{kind}]]></wp:comment_type>
            <wp:comment_parent>{parent}</wp:comment_parent>
            <wp:comment_user_id>{user}</wp:comment_user_id>
            <wp:commentmeta><wp:meta_key>x</wp:meta_key></wp:commentmeta>
        </wp:comment>",
        id % 10,
        id % 10
    )
}

fn wp_item(id: u32, kind: &str, status: &str, rest: &str) -> String {
    format!(
        "<item>
            <title><![CDATA[Post {id} & co]]></title>
            <link>https://blog.example/?p={id}</link>
            <pubDate>Thu, 04 Mar 2021 05:00:00 +0000</pubDate>
            <dc:creator><![CDATA[ann]]></dc:creator>
            <guid isPermaLink=\"false\">https://blog.example/?p={id}</guid>
            <description></description>
            <content:encoded><![CDATA[<p>Body {id}</p>]]></content:encoded>
            <excerpt:encoded><![CDATA[]]></excerpt:encoded>
            <wp:post_id>{id}</wp:post_id>
            <wp:post_date><![CDATA[2021-03-04 06:00:00]]></wp:post_date>
            <wp:post_date_gmt><![CDATA[2021-03-04 05:00:00]]></wp:post_date_gmt>
            <wp:comment_status>open</wp:comment_status>
            <wp:post_name>post-{id}</wp:post_name>
            <wp:status><![CDATA[{status}]]></wp:status>
            <wp:post_parent>0</wp:post_parent>
            <wp:post_type><![CDATA[{kind}]]></wp:post_type>
            <wp:post_password></wp:post_password>
            <category domain=\"category\" nicename=\"news\"><![CDATA[News &amp; more]]></category>
            <category domain=\"post_tag\" nicename=\"rust\"><![CDATA[rust]]></category>
            <category domain=\"category\" nicename=\"uncategorized\"><![CDATA[Uncategorized]]></category>
            <wp:postmeta><wp:meta_key>_edit_last</wp:meta_key><wp:meta_value>1</wp:meta_value></wp:postmeta>
            {rest}
        </item>"
    )
}

fn wxr() -> String {
    let (gus, ann) = (("Gus", "Gus@Example.com"), ("Ann", "ann@blog.example"));
    let comments = [
        wp_comment(11, 0, "1", "comment", gus, 0),
        wp_comment(12, 11, "1", "", ann, 1),
        wp_comment(13, 11, "spam", "", ("Bot", "bot@example.com"), 0),
        // Replies to what is left out.
        wp_comment(14, 13, "1", "", ("Gus", "gus@example.com"), 0),
        wp_comment(15, 0, "trash", "", gus, 0),
        wp_comment(16, 0, "0", "", gus, 0),
        wp_comment(17, 0, "1", "pingback", ("Elsewhere", ""), 0),
    ];
    let items = [
        wp_item(1, "post", "publish", &comments.concat()),
        wp_item(2, "page", "publish", ""),
        wp_item(3, "post", "draft", ""),
        wp_item(4, "attachment", "inherit", ""),
        wp_item(5, "post", "trash", &wp_comment(18, 0, "1", "", gus, 0)),
        wp_item(6, "post", "private", ""),
    ];
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\" ?>
        <!-- This is a WordPress eXtended RSS file generated by WordPress. -->
        <rss version=\"2.0\" xmlns:excerpt=\"http://wordpress.org/export/1.2/excerpt/\"
            xmlns:content=\"http://purl.org/rss/1.0/modules/content/\"
            xmlns:dc=\"http://purl.org/dc/elements/1.1/\" xmlns:wp=\"http://wordpress.org/export/1.2/\">
        <channel>
            <title>Blog</title>
            <link>https://blog.example</link>
            <wp:wxr_version>1.2</wp:wxr_version>
            <wp:base_site_url>https://blog.example</wp:base_site_url>
            <wp:base_blog_url>https://blog.example</wp:base_blog_url>
            <wp:author><wp:author_id>1</wp:author_id><wp:author_login><![CDATA[ann]]></wp:author_login>
                <wp:author_email><![CDATA[ann@blog.example]]></wp:author_email>
                <wp:author_display_name><![CDATA[Ann A.]]></wp:author_display_name></wp:author>
            <wp:category><wp:term_id>1</wp:term_id></wp:category>
            {}
        </channel></rss>",
        items.concat()
    )
}

fn a_wordpress_site_moves_in(town: Installation) {
    let project = project_of(&town);
    let path = file("blog.xml", &wxr());
    let arguments = ["import", "--project", &project, "--format", "wxr", path.to_str().unwrap()];
    let dry = town.json(&[&arguments[..], &["--dry-run"]].concat());
    let done = import(&town, &project, "wxr", &path);
    assert_eq!(done["added"], json!({ "user": 2, "entity": 3, "comment": 3 }), "{done}");
    assert_eq!((&dry["added"], &dry["leftOut"]), (&done["added"], &done["leftOut"]));
    let expected = [
        ("comments of the type pingback are not imported", 1),
        ("it is marked as spam", 1),
        ("it is marked as trash", 1),
        ("it waits for approval", 1),
        ("its post was left out", 1),
        ("its status is private", 1),
        ("its status is trash", 1),
        ("posts of the type attachment are not imported", 1),
    ];
    assert_eq!(reasons(&done), expected.map(|(why, count)| (why.to_owned(), count)));
    let twice = import(&town, &project, "wxr", &path);
    assert_eq!((&twice["added"], &twice["unchanged"]), (&json!({}), &done["added"]));

    let api = Api::of(&town, &project);
    let post =
        api.get("/entities/by-foreign-id?foreignId=wordpress:blog.example:post:1&include=user");
    assert_eq!(
        (&post["title"], &post["content"]),
        (&json!("Post 1 & co"), &json!("<p>Body 1</p>"))
    );
    assert_eq!(post["keywords"], json!(["News &amp; more", "rust"]));
    assert_eq!(
        (&post["createdAt"], &post["repliesCount"]),
        (&json!("2021-03-04T05:00:00.000Z"), &json!(3))
    );
    assert_eq!(
        (&post["user"]["username"], &post["user"]["name"]),
        (&json!("ann"), &json!("Ann A."))
    );
    let listed = api.get("/entities?sortBy=new");
    assert_eq!(listed["pagination"]["totalItems"], 2, "the draft is none for others: {listed}");
    let filtered = api.get("/entities?keywordsFilters%5Bincludes%5D=rust");
    assert_eq!(filtered["pagination"]["totalItems"], 2);
    let id = post["id"].as_str().unwrap();
    let comments = api.get(&format!("/comments?entityId={id}&parentId=none&include=user"));
    let top = comments["data"].as_array().unwrap();
    assert_eq!(top.len(), 1, "{comments}");
    assert_eq!(
        (&top[0]["content"], &top[0]["user"]["name"]),
        (&json!("comment 11 & <b>more</b>"), &json!("Gus"))
    );
    assert_eq!(top[0]["repliesCount"], 2, "the reply to spam, too");
    drop(api);
    sound(&town);
}

fn disqus_post(
    id: u32,
    flags: (bool, bool),
    author: &str,
    thread: u32,
    parent: Option<u32>,
) -> String {
    let parent = parent.map_or(String::new(), |id| format!("<parent dsq:id=\"{id}\" />"));
    let (deleted, spam) = flags;
    format!(
        "<post dsq:id=\"{id}\">
            <id />
            <message><![CDATA[<p>post {id}</p>]]></message>
            <createdAt>2022-01-02T03:04:{:02}Z</createdAt>
            <isDeleted>{deleted}</isDeleted>
            <isSpam>{spam}</isSpam>
            <author>{author}</author>
            <thread dsq:id=\"{thread}\" />
            {parent}
        </post>",
        id % 60
    )
}

fn disqus_thread(number: u32, identifier: &str, deleted: bool) -> String {
    format!(
        "<thread dsq:id=\"{number}\">
            <id>{identifier}</id>
            <forum>example</forum>
            <category dsq:id=\"1\" />
            <link>https://site.example/{number}</link>
            <title>Thread {number} &amp; co</title>
            <message />
            <createdAt>2022-01-01T00:00:00Z</createdAt>
            <author><name>Owner</name><isAnonymous>false</isAnonymous><username>owner</username></author>
            <isClosed>false</isClosed>
            <isDeleted>{deleted}</isDeleted>
        </thread>"
    )
}

fn a_disqus_forum_moves_in(town: Installation) {
    let project = project_of(&town);
    let ada = "<name>Ada</name><isAnonymous>false</isAnonymous><username>ada_l</username>";
    let guest = "<email>g@example.com</email><name>Guest</name><isAnonymous>true</isAnonymous>";
    let live = (false, false);
    let posts = [
        // Before what it replies to.
        disqus_post(3, live, ada, 10, Some(2)),
        disqus_post(2, live, guest, 10, None),
        disqus_post(4, (true, false), guest, 10, Some(2)),
        disqus_post(5, live, guest, 10, Some(4)),
        disqus_post(6, (false, true), ada, 10, None),
        disqus_post(7, live, ada, 12, None),
        disqus_post(8, live, ada, 99, None),
        disqus_post(9, live, ada, 11, Some(77)),
    ];
    let threads = [
        disqus_thread(10, "page-10", false),
        disqus_thread(11, "", false),
        disqus_thread(12, "gone", true),
    ];
    let text = format!(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>
        <disqus xmlns=\"http://disqus.com\" xmlns:dsq=\"http://disqus.com/disqus-internals\">
        <category dsq:id=\"1\"><forum>example</forum><title>General</title></category>
        {}{}</disqus>",
        threads.concat(),
        posts.concat()
    );
    let path = file("disqus.xml", &text);
    let done = import(&town, &project, "disqus", &path);
    assert_eq!(done["added"], json!({ "entity": 2, "user": 2, "comment": 3 }), "{done}");
    let expected = [
        ("it is marked as spam", 1),
        ("it was deleted", 1),
        ("its thread is not in the file", 1),
        ("its thread was left out", 1),
        ("what it refers to is not there: disqus:post:77", 1),
        ("it was deleted", 1),
    ];
    assert_eq!(reasons(&done), expected.map(|(why, count)| (why.to_owned(), count)));
    let twice = import(&town, &project, "disqus", &path);
    assert_eq!((&twice["added"], &twice["unchanged"]), (&json!({}), &done["added"]));

    let api = Api::of(&town, &project);
    let page = api.get("/entities/by-foreign-id?foreignId=page-10");
    assert_eq!((&page["title"], &page["repliesCount"]), (&json!("Thread 10 & co"), &json!(3)));
    api.get("/entities/by-foreign-id?foreignId=https://site.example/11");
    let id = page["id"].as_str().unwrap();
    let comments = api.get(&format!("/comments?entityId={id}&parentId=none&include=user"));
    let top = comments["data"].as_array().unwrap();
    assert_eq!((top.len(), &top[0]["user"]["name"]), (1, &json!("Guest")), "{comments}");
    let replies =
        api.get(&format!("/comments?parentId={}&include=user", top[0]["id"].as_str().unwrap()));
    assert_eq!(replies["data"].as_array().unwrap().len(), 2, "{replies}");
    drop(api);
    sound(&town);
}

fn users_and_posts_come_as_csv(town: Installation) {
    let project = project_of(&town);
    let folder = fresh_directory();
    let long = "t".repeat(301);
    let users = "foreignId,username,email,name\r\n\
        u1,Ada.L,ADA@example.com,Ada\r\n\
        u2,ada.l,not an address,\"Bob, B.\"\r\n\
        u3,,ada@example.com,Third\r\n";
    let posts = format!(
        "foreignId,title,content,author,keywords,createdAt,shown\r\n\
        p1,Hello,\"two\nlines, \"\"quoted\"\"\",u1,a; b,2020-02-03T04:05:06Z,x\r\n\
        p2,{long},,u2,\"[\"\"c\"\"]\",,x\r\n\
        p3,lost,,nobody,,,x\r\n\
        p4,odd,,u1,,yesterday,x\r\n\
        p5,short\r\n"
    );
    let comments =
        "foreignId,post,parent,author,content\r\nc1,p1,,u2,first\r\nc2,p1,c1,u1,second\r\n";
    for (name, text) in
        [("users", users), ("posts", &posts), ("comments", comments), ("other", "a\r\n")]
    {
        std::fs::write(folder.join(format!("{name}.csv")), text).unwrap();
    }
    let done = import(&town, &project, "csv", &folder);
    assert_eq!(done["added"], json!({ "user": 3, "entity": 2, "comment": 2 }), "{done}");
    let expected = [
        ("createdAt: must be an ISO 8601 date-time", 1),
        ("what it refers to is not there: nobody", 1),
        ("files of this name are not read", 1),
        ("the row has another number of cells than the header", 1),
    ];
    assert_eq!(reasons(&done), expected.map(|(why, count)| (why.to_owned(), count)));
    let notes: Vec<&str> = done["notes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|note| note["reason"].as_str().unwrap())
        .collect();
    let expected = [
        "the title was cut to 300 characters",
        "the email was left out: another user has it",
        "the email was left out: it must be a valid email address",
        "the username was left out: another user has it",
    ];
    assert_eq!(notes, expected);
    // Both in one file, with a column that tells them apart.
    let mixed =
        file("all.csv", "type,foreignId,title,name\npost,p9,Nine,\nuser,u9,,Nina\nthing,x,,\n");
    let mixed = import(&town, &project, "csv", &mixed);
    assert_eq!(mixed["added"], json!({ "user": 1, "entity": 1 }), "{mixed}");
    let twice = import(&town, &project, "csv", &folder);
    assert_eq!((&twice["added"], &twice["unchanged"]), (&json!({}), &done["added"]));
    let api = Api::of(&town, &project);
    let post = api.get("/entities/by-foreign-id?foreignId=p1&include=user");
    assert_eq!(
        (&post["content"], &post["keywords"]),
        (&json!("two\nlines, \"quoted\""), &json!(["a", "b"]))
    );
    assert_eq!((&post["user"]["username"], &post["repliesCount"]), (&json!("ada.l"), &json!(2)));
    drop(api);
    sound(&town);
}

fn hostile_xml_is_refused(town: Installation) {
    let project = project_of(&town);
    let refused = |format: &str, text: &[u8]| {
        let path = fresh_directory().join("hostile.xml");
        std::fs::write(&path, text).unwrap();
        town.fails(&["import", "--project", &project, "--format", format, path.to_str().unwrap()])
    };
    let laughs =
        b"<?xml version=\"1.0\"?><!DOCTYPE rss [<!ENTITY a \"ha\"><!ENTITY b \"&a;&a;&a;\">]>
        <rss><channel><title>&b;</title></channel></rss>";
    assert!(refused("wxr", laughs).contains("a document type declaration is refused"));
    let external =
        b"<!DOCTYPE disqus [<!ENTITY x SYSTEM \"file:///etc/passwd\">]><disqus>&x;</disqus>";
    assert!(refused("disqus", external).contains("a document type declaration is refused"));
    assert!(
        refused("wxr", b"<rss><channel><item><title>&x;</title>")
            .contains("entity &x; is not known")
    );
    assert!(refused("wxr", b"<rss><channel><item><title>\xff</title>").contains("not UTF-8"));
    assert!(refused("wxr", b"<rss><channel><item>").contains("cut off"));
    assert!(refused("wxr", b"<html></html>").contains("does not begin with <rss>"));
    assert!(refused("disqus", b"no xml at all").contains("does not begin with <disqus>"));
    let long = [&b"<rss><channel><title>"[..], &vec![b'x'; 17 << 20], b"</title></channel></rss>"]
        .concat();
    assert!(refused("wxr", &long).contains("too long"));
    // A circle of replies ends.
    let anyone = "<name>A</name><isAnonymous>true</isAnonymous>";
    let circle = [
        disqus_thread(1, "t", false),
        disqus_post(2, (false, false), anyone, 1, Some(3)),
        disqus_post(3, (false, false), anyone, 1, Some(2)),
        disqus_post(4, (true, false), anyone, 1, Some(5)),
        disqus_post(5, (true, false), anyone, 1, Some(4)),
        disqus_post(6, (false, false), anyone, 1, Some(4)),
    ];
    let circle = file("circle.xml", &format!("<disqus>{}</disqus>", circle.concat()));
    let done = import(&town, &project, "disqus", &circle);
    assert_eq!(done["added"], json!({ "entity": 1, "user": 1 }), "{done}");
    sound(&town);
}
