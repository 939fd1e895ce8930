-- Whether a decision counts against its author. What admins of groups remove does not: anybody can make a group.
ALTER TABLE moderation_decisions ADD COLUMN is_strike {bool} NOT NULL DEFAULT TRUE;
UPDATE moderation_decisions SET is_strike = FALSE
WHERE target_type = 'message' AND action = 'remove' AND space_id IS NULL AND report_id IS NULL AND rule_id IS NULL
    AND operator_id IS NULL AND appeal_id IS NULL AND decided_by LIKE 'user %';
