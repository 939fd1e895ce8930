//! Seals the secrets of all projects again after the server's secret key was changed, so that the previous key
//! can go.

use crate::audit;
use crate::error::{Error, Result};
use crate::state::{App, SealedSecrets};
use crate::tenancy;

pub async fn renew_secrets(app: &App) -> Result<()> {
    for secrets in app.lists.of::<SealedSecrets>().iter().copied() {
        let found = app.db.read_slow(move |c| {
            let mut found = Vec::new();
            let projects = tenancy::store::list(c)?.into_iter().map(|project| project.id);
            for project in projects.chain([audit::INSTALLATION]) {
                let listed = (secrets.list)(c, project)?;
                found.extend(listed.into_iter().map(|secret| (project, secret)));
            }
            Ok::<_, Error>(found)
        });
        for (project, secret) in found.await? {
            let renewed = app.sealer.renewed(&secret.sealed, &secret.place, &app.random)?;
            let Some(new) = renewed else { continue };
            let replace = secrets.replace;
            let written =
                app.db.write(move |tx| replace(tx, project, &secret.name, (&secret.sealed, &new)));
            written.await?;
        }
    }
    Ok(())
}
