-- Which operator made the decision that an appeal is against: operators see appeals against decisions of others first.
ALTER TABLE moderation_appeals ADD COLUMN decider_id {uuid};
UPDATE moderation_appeals SET decider_id = d.operator_id FROM moderation_decisions d
WHERE d.project_id = moderation_appeals.project_id AND d.id = moderation_appeals.decision_id;
CREATE INDEX moderation_appeals_decider ON moderation_appeals (project_id, decider_id, created_at, id)
WHERE state = 'open' AND outcome_id IS NULL;
