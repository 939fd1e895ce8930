//! The images of an upload: their headers are checked together for the whole request, then they are processed
//! one after the other.

use db::JsonText;
use images::{Encoding, Failure, Job, Processed, Processor};

use crate::error::{Error, Result};
use crate::features::files::model::ImageFacts;
use crate::features::files::rules::shown_name;
use crate::features::files::uploads::{Images, Made, Upload, Wanted};
use crate::state::App;
use crate::values::ids::{FileId, ProjectId, new_id};
use crate::values::time::Timestamp;

/// An image that passed the checks.
#[derive(Debug)]
pub(super) struct Planned<'a> {
    wanted: &'a Wanted,
    images: &'a Images,
    upload: &'a Upload,
    job: Job,
}

/// The images of each upload.
pub(super) async fn plan_images(wanted: &[Wanted]) -> Result<Vec<Vec<Planned<'_>>>> {
    let mut all = Vec::with_capacity(wanted.len());
    for wanted in wanted {
        let mut planned = Vec::new();
        if let Some(images) = &wanted.images {
            for upload in &images.uploads {
                let job = Processor::plan(upload.path().to_owned(), images.options.clone()).await;
                let job = job.map_err(|failure| refusal(wanted, upload, failure))?;
                planned.push(Planned { wanted, images, upload, job });
            }
        }
        all.push(planned);
    }
    Job::check_together(all.iter().flatten().map(|one| (one, &one.job)))
        .map_err(|(one, failure)| refusal(one.wanted, one.upload, failure))?;
    Ok(all)
}

impl Planned<'_> {
    pub(super) async fn make(self, app: &App, project: ProjectId, now: Timestamp) -> Result<Made> {
        let id = FileId(new_id(now, &app.random));
        let Planned { wanted, images, upload, job } = self;
        let into = upload.staged().path().join(id.to_string());
        let made = into.clone();
        let made = tokio::task::spawn_blocking(move || std::fs::create_dir(made));
        made.await.map_err(Error::internal)?.map_err(crate::storage::unavailable)?;
        // Files of projects, which have no user, share one turn.
        let owner = wanted.owner.map_or(project.0, |user| user.0).as_u128();
        let processed = app.images.process(job, into, owner).await;
        let processed = processed.map_err(|failure| refusal(wanted, upload, failure))?;
        let variants = processed.variants.iter().map(|(_, output)| output.size);
        upload.staged().reserve(processed.original.size + variants.sum::<u64>())?;

        let path_of = |name: Option<&str>, encoding: Encoding| {
            let prefix = name.map(|name| format!("{name}_")).unwrap_or_default();
            images.under.join(&format!("{id}/{prefix}original.{}", encoding.extension()))
        };
        let facts = ImageFacts::new(&images.options, &processed, path_of);
        let mut row = wanted.row(upload, id, facts.original.path.clone(), now)?;
        if !row.mime.to_ascii_lowercase().starts_with("image/") {
            row.mime = format!("image/{}", processed.source_format);
        }
        row.sha256 = facts.original.sha256.clone();
        row.image = Some(JsonText(serde_json::to_string(&facts).map_err(Error::internal)?));
        Ok(Made { row, objects: objects(processed, path_of) })
    }
}

fn objects(
    processed: Processed,
    path_of: impl Fn(Option<&str>, Encoding) -> String,
) -> Vec<(String, std::path::PathBuf)> {
    let variants = processed.variants.into_iter().map(|(name, output)| (Some(name), output));
    let outputs = std::iter::once((None, processed.original)).chain(variants);
    outputs.map(|(name, output)| (path_of(name.as_deref(), output.encoding), output.file)).collect()
}

fn refusal(wanted: &Wanted, upload: &Upload, failure: Failure) -> Error {
    match failure {
        Failure::Invalid(why) => {
            (wanted.faults.invalid_image)(&shown_name(&upload.file_name), &why)
        }
        Failure::Options(why) => wanted.faults.invalid_options.because(why),
        Failure::Busy => Error::Busy("too many images are being worked on"),
        Failure::Internal(error) => Error::Internal(error),
    }
}
