//! `townhall project …`

use std::fmt::Write as _;

use clap::Subcommand;
use serde_json::{Value, json};

use crate::cli::jwt_issuers::{self, JwtIssuerCommand};
use crate::cli::mail_templates::{self, MailTemplateCommand};
use crate::cli::oauth::{self, OauthCommand};
use crate::cli::project_settings::{self, SettingsChange, StatementChange, WorkspaceChange};
use crate::cli::push::{self, PushCommand};
use crate::cli::{Admin, CommandResult, Output, confirm, project_id};
use crate::features::project_deletion;
use crate::features::projects::admin::{self, NewProject, ProjectSecrets};
use crate::http::cors;
use crate::installation::store as installation;
use crate::tenancy::{Bundle, NOT_FOUND, PENDING_DELETION, Project, ProjectState, registry, store};
use crate::values::ids::{ProjectId, new_id};

const BEING_DELETED: &str = "the project is being deleted, which cannot be taken back";

#[derive(Debug, Subcommand)]
pub(super) enum ProjectCommand {
    /// Make a project; its keys are shown this once
    Create {
        #[arg(long, value_parser = parse_name)]
        name: String,
        /// `all`, or names separated by commas
        #[arg(long, default_value = "all", value_parser = Bundles::parse)]
        bundles: Bundles,
        #[arg(long, value_parser = project_id, value_name = "UUID")]
        id: Option<ProjectId>,
    },
    /// All projects
    List,
    /// One project
    Show {
        #[arg(value_parser = project_id)]
        id: ProjectId,
    },
    /// Add and remove bundles
    Bundles {
        #[arg(value_parser = project_id)]
        id: ProjectId,
        #[arg(long, default_value = "", value_parser = Bundles::parse)]
        add: Bundles,
        #[arg(long, default_value = "", value_parser = Bundles::parse)]
        remove: Bundles,
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
    /// Set the origins whose pages may call the project; none means any
    Origins {
        #[arg(value_parser = project_id)]
        id: ProjectId,
        /// Separated by commas, such as https://app.example.com or https://*.example.com
        #[arg(long)]
        set: String,
    },
    /// Put a project under maintenance (503), mark it for deletion (423), or back to work
    State {
        #[arg(value_parser = project_id)]
        id: ProjectId,
        #[arg(long)]
        set: ProjectState,
    },
    /// Delete a project with everything in it, for good; a running server does it in the background
    Delete {
        #[arg(value_parser = project_id)]
        id: ProjectId,
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
    /// Change settings; what is not named stays as it is
    Settings {
        #[arg(value_parser = project_id)]
        id: ProjectId,
        #[command(flatten)]
        change: SettingsChange,
        #[command(flatten)]
        workspaces: WorkspaceChange,
        #[command(flatten)]
        statements: StatementChange,
    },
    /// Sign-in with Google, GitHub, Facebook, Apple or an OpenID Connect issuer
    #[command(subcommand)]
    Oauth(OauthCommand),
    /// Sign-in with the JWTs of an outside issuer, such as Auth0, Firebase, Supabase or Keycloak
    #[command(subcommand)]
    JwtIssuer(JwtIssuerCommand),
    /// Push services and the wording of automatic pushes; without options show them
    Push(Box<PushCommand>),
    /// The wording of notifications by mail, for each language; without options show it
    MailTemplate(MailTemplateCommand),
    /// Make a new key pair for external sign-in; the previous public key stays valid
    RotateJwtKey {
        #[arg(value_parser = project_id)]
        id: ProjectId,
    },
}

pub(super) fn run(command: ProjectCommand, admin: Admin) -> CommandResult {
    match command {
        ProjectCommand::Create { name, bundles, id } => create(&admin, name, bundles.0, id),
        ProjectCommand::List => list(&admin),
        ProjectCommand::Show { id } => show(&admin, id),
        ProjectCommand::Bundles { id, add, remove, yes } => {
            if !remove.0.is_empty() {
                confirm("Removing a bundle takes its feature from the project.", yes)?;
            }
            admin.write(move |tx| admin::change_bundles(tx, id, &add.0, &remove.0))?;
            show(&admin, id)
        }
        ProjectCommand::Origins { id, set } => {
            let named = set.split(',').map(str::trim).filter(|origin| !origin.is_empty());
            let origins = named.map(cors::parse_origin).collect::<CommandResult<Vec<_>>>()?;
            let (now, stored) = (admin.world.clock.now(), json!(origins).to_string());
            found(admin.write(move |tx| store::set_origins(tx, id, &stored, now))?)?;
            show(&admin, id)
        }
        ProjectCommand::State { id, set } => {
            let now = admin.world.clock.now();
            let set = admin.write(move |tx| {
                if installation::deletion_began(tx, id)?.is_some() {
                    return Err(PENDING_DELETION.because(BEING_DELETED));
                }
                store::set_state(tx, id, set.name(), now)
            });
            found(set?)?;
            show(&admin, id)
        }
        ProjectCommand::Delete { id, yes } => delete(&admin, id, yes),
        ProjectCommand::Settings { id, change, workspaces, statements } => {
            let now = admin.world.clock.now();
            admin.write(move |tx| {
                let project = registry::load(tx, id)?.ok_or(NOT_FOUND)?;
                let mut settings = project.settings();
                change.apply(&mut settings);
                let mut of_workspaces = project.workspaces;
                workspaces.apply(&mut of_workspaces);
                store::set_workspaces(tx, id, &of_workspaces, now)?;
                let mut texts = project.statement;
                statements.apply(&mut texts);
                store::set_statements(tx, id, &texts, now)?;
                store::set_settings(tx, id, settings, now)
            })?;
            show(&admin, id)
        }
        ProjectCommand::Oauth(command) => oauth::run(command, &admin),
        ProjectCommand::JwtIssuer(command) => jwt_issuers::run(command, &admin),
        ProjectCommand::Push(command) => push::run(*command, &admin),
        ProjectCommand::MailTemplate(command) => mail_templates::run(command, &admin),
        ProjectCommand::RotateJwtKey { id } => rotate_jwt_key(&admin, id),
    }
}

fn create(
    admin: &Admin,
    name: String,
    bundles: Vec<Bundle>,
    id: Option<ProjectId>,
) -> CommandResult {
    let (now, random) = (admin.world.clock.now(), &admin.world.random);
    let id = id.unwrap_or_else(|| ProjectId(new_id(now, random)));
    let secrets = ProjectSecrets::generate(now, random).map_err(super::plain)?;
    let new = NewProject { id, name: name.clone(), bundles: bundles.clone() };
    let written = secrets.clone();
    admin.write(move |tx| {
        if store::find(tx, new.id)?.is_some() {
            return Err(crate::error::Error::internal(format!(
                "there is a project {} already",
                new.id
            )));
        }
        admin::create_project(tx, &new, &written, now)
    })?;
    let (service, master) = (&secrets.service.secret, &secrets.master.secret);
    let private = &secrets.jwt.private;
    let text = format!(
        "project      {id}\nname         {name}\nservice key  {service}\nmaster key   {master}\n\
         \nThe key for external sign-in:\n\n{private}\nThe keys are not shown again.\n"
    );
    let json = json!({
        "projectId": id,
        "name": name,
        "bundles": names(&bundles),
        "serviceKey": service,
        "masterKey": master,
        "jwtPrivateKey": private,
    });
    Ok(Output::new(text, json))
}

fn list(admin: &Admin) -> CommandResult {
    let rows = admin.read(store::list)?;
    let mut text = String::new();
    for row in &rows {
        let _ = writeln!(text, "{}  {:<16}  {}", row.id, row.state, row.name);
    }
    let json: Vec<Value> = rows
        .iter()
        .map(|row| {
            json!({
                "projectId": row.id,
                "name": row.name,
                "state": row.state,
                "createdAt": row.created_at,
            })
        })
        .collect();
    Ok(Output::new(text, json.into()))
}

fn show(admin: &Admin, id: ProjectId) -> CommandResult {
    let project: Project = admin.read(move |c| registry::load(c, id)?.ok_or(NOT_FOUND.into()))?;
    let origins = if project.allowed_origins.is_empty() {
        "any".to_owned()
    } else {
        project.allowed_origins.join(", ")
    };
    let mut text = format!(
        "project                {id}\nname                   {}\nstate                  {}\n\
         bundles                {}\norigins                {origins}\n",
        project.name,
        project.state.name(),
        names(&project.bundles).join(", "),
    );
    let mut json = json!({
        "projectId": id,
        "name": project.name,
        "state": project.state.name(),
        "bundles": names(&project.bundles),
        "allowedOrigins": project.allowed_origins,
        "createdAt": project.created_at,
    });
    let of_workspaces = project_settings::shown_of_workspaces(&project.workspaces);
    let of_statements = project_settings::shown_of_statements(&project.statement);
    let settings = project_settings::shown(&project.settings()).into_iter();
    let settings = settings.chain(of_workspaces).chain(of_statements);
    for (name, key, value) in settings {
        let _ = writeln!(text, "{name:<21}  {}", project_settings::plain(&value));
        json[key] = value;
    }
    let _ = writeln!(text, "created                {}", project.created_at);
    Ok(Output::new(text, json))
}

fn delete(admin: &Admin, id: ProjectId, yes: bool) -> CommandResult {
    let project = admin.read(move |c| store::find(c, id))?.ok_or(NOT_FOUND.message)?;
    let name = &project.name;
    confirm(&format!("Project {name} is deleted with everything in it, for good."), yes)?;
    let now = admin.world.clock.now();
    let earlier = admin.write(move |tx| project_deletion::begin(tx, id, now))?;
    let text = match earlier {
        None => format!("{id} is being deleted: a running server removes everything of it.\n"),
        Some(since) => format!("{id} is being deleted already, since {since}.\n"),
    };
    let json = json!({
        "projectId": id,
        "state": ProjectState::PendingDeletion.name(),
        "since": earlier.unwrap_or(now),
        "isNew": earlier.is_none(),
    });
    Ok(Output::new(text, json))
}

fn rotate_jwt_key(admin: &Admin, id: ProjectId) -> CommandResult {
    let pair = admin::generate_jwt_pair().map_err(super::plain)?;
    let now = admin.world.clock.now();
    let public = pair.public.clone();
    found(admin.write(move |tx| store::rotate_public_key(tx, id, &public, now))?)?;
    let text = format!("{}\nIt is not shown again.\n", pair.private);
    let json = json!({ "projectId": id, "jwtPrivateKey": pair.private });
    Ok(Output::new(text, json))
}

fn found(changed: bool) -> CommandResult<()> {
    if changed { Ok(()) } else { Err(NOT_FOUND.message.to_owned()) }
}

fn names(bundles: &[Bundle]) -> Vec<&'static str> {
    bundles.iter().map(|bundle| bundle.name()).collect()
}

fn parse_name(text: &str) -> Result<String, String> {
    let name = text.trim();
    if name.is_empty() || name.chars().count() > 255 {
        return Err("a name has 1 to 255 characters".to_owned());
    }
    Ok(name.to_owned())
}

#[derive(Debug, Clone)]
pub(super) struct Bundles(Vec<Bundle>);

impl Bundles {
    /// `core` may be named, but every project has it.
    fn parse(text: &str) -> Result<Self, String> {
        if text == "all" {
            return Ok(Bundles(Bundle::ALL.to_vec()));
        }
        let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
        let bundles = names.filter(|name| *name != "core").map(|name| {
            Bundle::from_name(name).ok_or_else(|| format!("there is no bundle `{name}`"))
        });
        bundles.collect::<Result<_, _>>().map(Bundles)
    }
}
