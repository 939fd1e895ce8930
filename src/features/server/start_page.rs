//! What a browser sees at the root of a server that `townhall dev` has started: where everything is.

use std::fmt::Write as _;

use http::StatusCode;

use crate::error::Result;
use crate::features::auth::pages::escape;
use crate::http::dispatch::ROUTE_NOT_FOUND;
use crate::http::operation::ServerCall;
use crate::http::reply::Page;
use crate::tenancy::store as projects;

/// A real server has nothing to show there.
pub(super) async fn start_page(call: ServerCall) -> Result<Page> {
    let app = &call.app;
    if !app.config.is_dev {
        return Err(ROUTE_NOT_FOUND.into());
    }
    let data = app.config.data_dir.display().to_string();
    let mut rows = String::new();
    for project in app.db.read(projects::list).await? {
        let (name, id) = (escape(&project.name), project.id);
        let _ = writeln!(
            rows,
            "<li>{name}, project <code>{id}</code>: <a href=\"/v8/{id}/entities\">its feed</a>, \
             <a href=\"/v8/{id}/openapi.json\">its API</a></li>"
        );
    }
    let html = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>Townhall</title>\n<style>\n\
         body {{ font: 1rem/1.6 system-ui, sans-serif; max-width: 40rem; margin: 10vh auto; padding: 0 1rem }}\n\
         </style>\n</head>\n<body>\n<h1>Townhall</h1>\n\
         <p>This server was started with <code>townhall dev</code>, to try things out.</p>\n\
         <ul>\n{rows}\
         <li><a href=\"/docs\">The API explorer</a> shows and tries every operation of \
         <a href=\"/openapi.json\">the OpenAPI document</a>.</li>\n\
         <li><a href=\"/admin\">The admin</a> is for operators: <code>townhall admin invite</code> prints a link.</li>\n\
         <li>The guides are in <code>docs/</code> of the sources; begin with <code>docs/first-five-minutes.md</code>.</li>\n\
         <li>Mails are not sent: they are files in <code>{}/outbox</code>.</li>\n\
         <li>The database and uploaded files are in <code>{}</code>.</li>\n\
         <li><a href=\"/readyz\">Health</a> and <a href=\"/metrics\">metrics</a>.</li>\n\
         </ul>\n</body>\n</html>\n",
        escape(&data),
        escape(&data)
    );
    Ok(Page { status: StatusCode::OK, html })
}
