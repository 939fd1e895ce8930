-- Workspaces: trees of teams. Whoever changes anything in a tree (a workspace, a membership, an invitation) locks the
-- row of its root first.

-- The page of the application that invitations lead to; whether new workspaces inherit; whether that is fixed.
ALTER TABLE projects ADD COLUMN workspace_invite_accept_url {text};
ALTER TABLE projects ADD COLUMN workspace_inherits_default {bool} NOT NULL DEFAULT FALSE;
ALTER TABLE projects ADD COLUMN workspace_inherit_enforced {bool} NOT NULL DEFAULT FALSE;

-- `owner_id` refers to no row: it stays when the user is deleted. A root is its own `root_id`.
CREATE TABLE workspaces (
    project_id {uuid} NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    id {uuid} NOT NULL,
    name {text} NOT NULL,
    metadata {document} NOT NULL,
    owner_id {uuid} NOT NULL,
    parent_id {uuid},
    root_id {uuid} NOT NULL,
    depth {int} NOT NULL,
    inherits_from_parent {bool} NOT NULL,
    created_at {time} NOT NULL,
    updated_at {time} NOT NULL,
    PRIMARY KEY (project_id, id),
    FOREIGN KEY (project_id, parent_id) REFERENCES workspaces (project_id, id)
) {strict};
-- Ids sort by creation, so this is also the order of a user's list.
CREATE INDEX workspaces_owner ON workspaces (project_id, owner_id, id);
CREATE INDEX workspaces_parent ON workspaces (project_id, parent_id) WHERE parent_id IS NOT NULL;

-- Each workspace below each of those above it, and below itself. Never changes: a workspace does not move.
CREATE TABLE workspace_lines (
    project_id {uuid} NOT NULL,
    ancestor_id {uuid} NOT NULL,
    workspace_id {uuid} NOT NULL,
    PRIMARY KEY (project_id, ancestor_id, workspace_id),
    FOREIGN KEY (project_id, workspace_id) REFERENCES workspaces (project_id, id) ON DELETE CASCADE
) {clustered};
CREATE INDEX workspace_lines_workspace ON workspace_lines (project_id, workspace_id, ancestor_id);

-- `capabilities` and `permissions` are JSON lists. The owner has no row.
CREATE TABLE workspace_members (
    project_id {uuid} NOT NULL,
    workspace_id {uuid} NOT NULL,
    user_id {uuid} NOT NULL,
    id {uuid} NOT NULL,
    capabilities {document} NOT NULL,
    permissions {document} NOT NULL,
    rank {int} NOT NULL,
    title {text},
    metadata {document} NOT NULL,
    joined_at {time} NOT NULL,
    created_at {time} NOT NULL,
    PRIMARY KEY (project_id, workspace_id, user_id),
    FOREIGN KEY (project_id, workspace_id) REFERENCES workspaces (project_id, id) ON DELETE CASCADE,
    FOREIGN KEY (project_id, user_id) REFERENCES users (project_id, id) ON DELETE CASCADE
) {strict};
CREATE INDEX workspace_members_user ON workspace_members (project_id, user_id, workspace_id);

-- `invited_by` refers to no row, like the owner. `user_id`: the invited user, or the one whose address `email` is.
CREATE TABLE workspace_invitations (
    project_id {uuid} NOT NULL,
    id {uuid} NOT NULL,
    workspace_id {uuid} NOT NULL,
    invited_by {uuid} NOT NULL,
    user_id {uuid},
    email {text},
    capabilities {document} NOT NULL,
    permissions {document} NOT NULL,
    rank {int} NOT NULL,
    title {text},
    status {text} NOT NULL,
    expires_at {time} NOT NULL,
    created_at {time} NOT NULL,
    updated_at {time} NOT NULL,
    PRIMARY KEY (project_id, id),
    FOREIGN KEY (project_id, workspace_id) REFERENCES workspaces (project_id, id) ON DELETE CASCADE,
    FOREIGN KEY (project_id, user_id) REFERENCES users (project_id, id) ON DELETE CASCADE
) {strict};
-- Lists show pending ones only. The other rows are found when their workspace or their user is deleted.
CREATE INDEX workspace_invitations_pending ON workspace_invitations (project_id, workspace_id, id)
    WHERE status = 'pending';
CREATE INDEX workspace_invitations_workspace ON workspace_invitations (project_id, workspace_id);
CREATE INDEX workspace_invitations_user ON workspace_invitations (project_id, user_id, id) WHERE user_id IS NOT NULL;
CREATE INDEX workspace_invitations_email ON workspace_invitations (project_id, email, id) WHERE email IS NOT NULL;
