//! Avatar and banner: images sent with a sign-up or an update, and the file objects shown with a user. Both
//! work the same way but have error codes of their own.

use db::{Conn, Tx};
use images::{MissingKey, Options};
use serde_json::{Map, Value};

use crate::error::{Fault, Result};
use crate::features::files::holders::Holder;
use crate::features::files::model::{File, show};
use crate::features::files::rules::PathParts;
use crate::features::files::store::FileRow;
use crate::features::files::uploads::{self, Images, Prepared, UploadFaults, Wanted};
use crate::features::files::{purge, store};
use crate::features::users::store::UserRow;
use crate::http::input::{Input, InputDoc, body_value};
use crate::http::multipart::{FileField, Form, MAX_FILE, Upload, Uploads};
use crate::http::operation::CheckedRequest;
use crate::state::App;
use crate::storage::signed::Links;
use crate::values::ids::{FileId, ProjectId, SpaceId, UserId};
use crate::values::time::Timestamp;

const AVATAR: &str = "avatarFile";
const BANNER: &str = "bannerFile";

/// The form of an operation that takes pictures with the fields of a profile.
pub const fn form(files: &'static [FileField]) -> Form {
    Form {
        json: &[
            "location",
            "metadata",
            "secureMetadata",
            "avatarFile.options",
            "bannerFile.options",
            "update",
        ],
        flags: &[],
        cleared: &["name", "username", "birthdate"],
        files,
        only: false,
        without_bundle: None,
    }
}

/// The two fields of such a form.
pub const fn fields(too_large: Fault, invalid: Fault) -> [FileField; 2] {
    let avatar = FileField {
        name: AVATAR,
        most: 1,
        largest: MAX_FILE,
        called: Some("Avatar"),
        too_large,
        too_many: invalid,
    };
    [avatar, FileField { name: BANNER, called: Some("Banner"), ..avatar }]
}

/// A feature's faults about pictures.
#[derive(Debug, Clone, Copy)]
pub struct PictureFaults {
    pub missing_options: Fault,
    pub uploads: UploadFaults,
}

/// The subject of a picture. Users own theirs; pictures of a space belong to the space, not to the user who
/// uploaded them.
#[derive(Debug, Clone, Copy)]
pub enum Portrayed {
    User(UserId),
    Space(SpaceId),
}

impl Portrayed {
    fn holder(self) -> Holder {
        match self {
            Portrayed::User(_) => Holder::None,
            Portrayed::Space(id) => Holder::Space(id),
        }
    }

    fn owner(self) -> Option<UserId> {
        match self {
            Portrayed::User(id) => Some(id),
            Portrayed::Space(_) => None,
        }
    }
}

/// The pictures of a form, with their raw options.
#[derive(Debug)]
pub struct Pictures {
    avatar: Option<Picture>,
    banner: Option<Picture>,
}

#[derive(Debug)]
struct Picture {
    upload: Upload,
    options: Value,
}

impl Input for Pictures {
    fn extract(request: &CheckedRequest) -> Result<Self> {
        let (mut files, body) = (Uploads::extract(request)?, body_value(request)?);
        let mut picture = |field: &str| {
            let options = body.get(format!("{field}.options")).cloned().unwrap_or_default();
            files.take_one(field).map(|upload| Picture { upload, options })
        };
        Ok(Pictures { avatar: picture(AVATAR), banner: picture(BANNER) })
    }

    fn describe(_: &mut InputDoc, _: &mut schemars::SchemaGenerator) {}
}

impl Pictures {
    pub fn is_empty(&self) -> bool {
        self.avatar.is_none() && self.banner.is_none()
    }

    /// Processes and stores the pictures for their subject.
    pub async fn prepare(
        self,
        app: &App,
        project: ProjectId,
        of: Portrayed,
        faults: &PictureFaults,
        now: Timestamp,
    ) -> Result<StoredPictures> {
        let avatar = self.avatar.map(|one| one.wanted(of, "avatars", faults)).transpose()?;
        let banner = self.banner.map(|one| one.wanted(of, "banners", faults)).transpose()?;
        let (has_avatar, has_banner) = (avatar.is_some(), banner.is_some());
        let wanted: Vec<Wanted> = avatar.into_iter().chain(banner).collect();
        let prepared = uploads::prepare_all(app, project, &wanted, now).await?;
        Ok(StoredPictures { prepared, has_avatar, has_banner })
    }
}

impl Picture {
    fn wanted(self, of: Portrayed, folder: &str, faults: &PictureFaults) -> Result<Wanted> {
        let missing = faults.missing_options;
        let refused = || missing.about_upload(missing.message);
        let options = self.options.as_object().filter(|options| options.contains_key("mode"));
        let options = options.ok_or_else(refused)?;
        let invalid = faults.uploads.invalid_options;
        let under = match options.get("pathParts") {
            None | Some(Value::Null) => PathParts::of(&[folder]),
            Some(parts) => PathParts::parse(parts)
                .ok_or_else(|| invalid.because("pathParts must be an array of strings"))?,
        };
        let options = Options::parse(options, MissingKey::NoVariants);
        let options = options.map_err(|why| invalid.because(why))?;
        Ok(Wanted {
            holder: of.holder(),
            owner: of.owner(),
            images: Some(Images { uploads: vec![self.upload], options, under }),
            files: None,
            position: 0,
            metadata: Map::new(),
            faults: faults.uploads,
        })
    }
}

/// Pictures whose bytes are stored and whose rows are not.
#[derive(Debug, Default, Clone)]
pub struct StoredPictures {
    /// The avatar comes before the banner.
    prepared: Prepared,
    has_avatar: bool,
    has_banner: bool,
}

impl StoredPictures {
    pub fn has_avatar(&self) -> bool {
        self.has_avatar
    }

    pub fn avatar(&self) -> Option<FileId> {
        self.avatar_row().map(|row| row.id)
    }

    pub fn banner(&self) -> Option<FileId> {
        self.banner_row().map(|row| row.id)
    }

    fn avatar_row(&self) -> Option<&FileRow> {
        self.prepared.rows().first().filter(|_| self.has_avatar)
    }

    fn banner_row(&self) -> Option<&FileRow> {
        self.prepared.rows().last().filter(|_| self.has_banner)
    }

    /// Replaces the pictures of the profile.
    pub fn put_on(&self, user: &mut UserRow) {
        if let Some(row) = self.avatar_row() {
            (user.avatar, user.avatar_path) = (None, Some(row.path.clone()));
            user.avatar_file_id = Some(row.id);
        }
        if let Some(row) = self.banner_row() {
            user.banner_file_id = Some(row.id);
        }
    }

    pub fn insert(&self, tx: &Tx<'_>, project: ProjectId) -> Result<()> {
        uploads::insert(tx, project, &self.prepared)
    }

    /// Passes on the outcome of the write; if it failed, the bytes are removed soon.
    pub async fn settle<T>(
        &self,
        app: &App,
        project: ProjectId,
        outcome: Result<T>,
        now: Timestamp,
    ) -> Result<T> {
        uploads::settle(app, project, &self.prepared, outcome, now).await
    }
}

/// Deletes the replaced pictures.
pub fn remove_replaced(
    tx: &Tx<'_>,
    project: ProjectId,
    before: [Option<FileId>; 2],
    after: [Option<FileId>; 2],
    now: Timestamp,
) -> Result<()> {
    let replaced = before.into_iter().filter(|file| !after.contains(file));
    let replaced: Vec<FileId> = replaced.flatten().collect();
    purge::delete(tx, project, &replaced, now)
}

/// Avatar and banner of a user, as shown.
pub fn load(c: &Conn<'_>, links: &Links, user: &UserRow) -> Result<[Option<File>; 2]> {
    let wanted = user.picture_ids();
    let ids: Vec<FileId> = wanted.into_iter().flatten().collect();
    let rows = store::find_all(c, links.project, &ids)?;
    let find = |id: Option<FileId>| {
        let row = rows.iter().find(|row| Some(row.id) == id);
        row.map(|row| show(links, row)).transpose()
    };
    Ok([find(wanted[0])?, find(wanted[1])?])
}
