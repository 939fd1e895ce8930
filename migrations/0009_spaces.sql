-- Spaces, who belongs to them, and what goes on in them. Whoever changes a space or a membership
-- holds the row of the space first; of several spaces the lesser id first, so a parent before its child.

-- Whether users may delete the spaces they created.
ALTER TABLE projects ADD COLUMN deletes_spaces {bool} NOT NULL DEFAULT TRUE;

-- `name_key`: the name as it is sorted. `is_open`: everybody may read what is in it; never so once it
-- is deleted. A deleted space is out of sight, and stays until what is in it has been removed.
CREATE TABLE spaces (
    project_id {uuid} NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    id {uuid} NOT NULL,
    slug {text},
    name {text} NOT NULL,
    name_key {text} NOT NULL,
    description {text},
    user_id {uuid},
    avatar_file_id {uuid},
    banner_file_id {uuid},
    reading_permission {text} NOT NULL,
    posting_permission {text} NOT NULL,
    visibility {text} NOT NULL,
    is_open {bool} NOT NULL,
    nsfw {bool} NOT NULL,
    nsfw_effective {bool} NOT NULL,
    requires_approval {bool} NOT NULL,
    parent_id {uuid},
    depth {int} NOT NULL,
    metadata {document} NOT NULL,
    members_count {int} NOT NULL,
    children_count {int} NOT NULL,
    created_at {time} NOT NULL,
    updated_at {time} NOT NULL,
    deleted_at {time},
    PRIMARY KEY (project_id, id),
    -- No action: whoever deletes a user first takes them off what they created.
    FOREIGN KEY (project_id, user_id) REFERENCES users (project_id, id)
) {strict};
CREATE UNIQUE INDEX spaces_slug ON spaces (project_id, slug)
    WHERE slug IS NOT NULL AND deleted_at IS NULL;
CREATE INDEX spaces_user ON spaces (project_id, user_id) WHERE user_id IS NOT NULL;
CREATE INDEX spaces_shut ON spaces (project_id, id) WHERE NOT is_open;
CREATE INDEX spaces_deleted ON spaces (project_id, id) WHERE deleted_at IS NOT NULL;

-- The lists that everybody sees.
CREATE INDEX spaces_members ON spaces (project_id, members_count DESC, created_at DESC, id)
    WHERE deleted_at IS NULL AND visibility = 'public';
CREATE INDEX spaces_fewest ON spaces (project_id, members_count, created_at DESC, id)
    WHERE deleted_at IS NULL AND visibility = 'public';
CREATE INDEX spaces_newest ON spaces (project_id, created_at DESC, id)
    WHERE deleted_at IS NULL AND visibility = 'public';
CREATE INDEX spaces_name ON spaces (project_id, name_key, created_at DESC, id)
    WHERE deleted_at IS NULL AND visibility = 'public';
-- Also of what is not public: a parent counts all its children.
CREATE INDEX spaces_children ON spaces (project_id, parent_id, created_at DESC, id)
    WHERE deleted_at IS NULL;

-- Each space below each of those above it, and below itself. Never changes: a space does not move.
CREATE TABLE space_lines (
    project_id {uuid} NOT NULL,
    ancestor_id {uuid} NOT NULL,
    space_id {uuid} NOT NULL,
    PRIMARY KEY (project_id, ancestor_id, space_id),
    FOREIGN KEY (project_id, space_id) REFERENCES spaces (project_id, id) ON DELETE CASCADE
) {clustered};
CREATE INDEX space_lines_space ON space_lines (project_id, space_id, ancestor_id);

-- `rank`: the role as members are listed, admins first.
CREATE TABLE space_members (
    project_id {uuid} NOT NULL,
    space_id {uuid} NOT NULL,
    user_id {uuid} NOT NULL,
    id {uuid} NOT NULL,
    role {text} NOT NULL,
    rank {int} NOT NULL,
    status {text} NOT NULL,
    joined_at {time} NOT NULL,
    created_at {time} NOT NULL,
    PRIMARY KEY (project_id, space_id, user_id),
    FOREIGN KEY (project_id, space_id) REFERENCES spaces (project_id, id) ON DELETE CASCADE,
    FOREIGN KEY (project_id, user_id) REFERENCES users (project_id, id) ON DELETE CASCADE
) {strict};
CREATE UNIQUE INDEX space_members_id ON space_members (project_id, id);
CREATE INDEX space_members_list ON space_members (project_id, space_id, status, rank, joined_at, id);
CREATE INDEX space_members_user ON space_members (project_id, user_id, status, joined_at DESC, space_id);

-- Why somebody is banned: beside a membership with that status, one for each at most.
CREATE TABLE space_bans (
    project_id {uuid} NOT NULL,
    space_id {uuid} NOT NULL,
    user_id {uuid} NOT NULL,
    id {uuid} NOT NULL,
    banned_by_id {uuid},
    reason {text},
    report_id {uuid},
    created_at {time} NOT NULL,
    updated_at {time} NOT NULL,
    PRIMARY KEY (project_id, space_id, user_id),
    FOREIGN KEY (project_id, space_id, user_id)
        REFERENCES space_members (project_id, space_id, user_id) ON DELETE CASCADE
) {strict};

CREATE TABLE space_rules (
    project_id {uuid} NOT NULL,
    id {uuid} NOT NULL,
    space_id {uuid} NOT NULL,
    title {text} NOT NULL,
    description {text},
    position {int} NOT NULL,
    approved_by_id {uuid},
    created_at {time} NOT NULL,
    updated_at {time} NOT NULL,
    PRIMARY KEY (project_id, id),
    FOREIGN KEY (project_id, space_id) REFERENCES spaces (project_id, id) ON DELETE CASCADE
) {strict};
CREATE INDEX space_rules_order ON space_rules (project_id, space_id, position, id);

-- How much of a feed is in one space: what a viewer may not read is taken off by it. `within` is the
-- scope of that feed.
ALTER TABLE entity_counts ADD COLUMN within {text};
ALTER TABLE entity_counts ADD COLUMN space_id {uuid};
CREATE INDEX entity_counts_within ON entity_counts (project_id, within, space_id)
    WHERE space_id IS NOT NULL;

-- Everything in a space, for its removal.
CREATE INDEX reputation_buckets_space ON reputation_buckets (project_id, space_id, user_id);
CREATE INDEX entities_space ON entities (project_id, space_id, id) WHERE space_id IS NOT NULL;
