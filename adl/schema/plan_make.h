/*
 * plan_make.h - how the steps of a plan are made; private to plan.c and plan_closed.c.
 */
#ifndef TENON_ADL_SCHEMA_PLAN_MAKE_H
#define TENON_ADL_SCHEMA_PLAN_MAKE_H

#include "adl/schema/plan.h"

struct planner {
    struct schema *schema;
    struct step *steps; /* of the list that is being made */
    size_t count, room;
    size_t closed_names; /* all that closed_collect returned */
};

/* Names without duplicates, in the order of their first use. */
struct name_list {
    struct name *at;
    size_t count, room;
    tn_value keys;  /* an object from the first names to their positions, or NULL; borrowed */
    tn_value index; /* other name → position */
};

/* Memory of the schema, set to zero. */
void *plan_alloc(struct schema *schema, size_t count, size_t size);
/* Returns the new last step, until the next one is added. */
struct step *plan_add_step(struct planner *planner, step_fn run);
/* The node behind references that are alone in their subschemas. */
const struct node *plan_target(const struct schema *schema, const struct node *node);
/* The same, but NULL if every value is valid. */
const struct node *plan_applied(const struct schema *schema, const struct node *node);
/* Begins with the keys of an object, which must outlive the list; see there. NULL is allowed. */
void name_list_init(struct name_list *list, tn_value keys);
/* Returns the name, which is new if the list did not have it; valid until the next one is added. */
struct name *name_list_add(struct name_list *list, tn_value text);
void name_list_finish(struct name_list *list);
/* Copies the names, all different, and indexes them. */
void plan_names(struct schema *schema, struct names *names, const struct name *at, size_t count);

/* What the subschemas at one place evaluate of an object, whatever its members are. */
struct closed {
    struct name_list names;
    const struct pattern **patterns;
    size_t pattern_count, pattern_room;
    const struct node *rest; /* unevaluatedProperties */
    bool everything;         /* all members */
    size_t visited;          /* nodes */
};

/*
 * Finds the members that `node` evaluates without its unevaluatedProperties, `rest`. Returns false if that depends on
 * the instance, or would take more than a limit; then the checks find it while they run. Finish `closed` in any case.
 */
bool closed_collect(struct planner *planner, struct closed *closed, const struct node *node, const struct node *rest);
void closed_finish(struct closed *closed);

#endif
