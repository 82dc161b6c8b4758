/*
 * change.h - how a value became another one, as a value that is about as large as what differs.
 *
 *     CHANGE: {set: value}                   replaces the value
 *             {append: text}                 adds text to the end of a string
 *             {keep: n, add: [item, …]}      an array: keeps the first n items, then adds others
 *             {edit: [EDIT, …]}              an array; EDIT is [at, CHANGE] for one item, or [at, removed, [item, …]]:
 *                                            the positions are those of the array before, in rising order
 *             {members: {key: CHANGE}, remove?: [key, …]}    an object; new keys are added behind the others
 *
 * Parts that both values share are found by identity, so a change costs what differs, not what there is. Parts that are
 * equal and not shared (of a value that was read again, say) are compared by content.
 *
 *     tn_value change = value_change(before, after);            // NULL: they are identical
 *     if (!value_change_apply_take(before, change, &after)) …    // a malformed change
 */
#ifndef TENON_ADL_CHANGE_H
#define TENON_ADL_CHANGE_H

#include "adl/value/value.h"

/* Returns a new reference, or NULL if the values are identical (value_identical). The arguments are borrowed. */
tn_value value_change(tn_value before, tn_value after);
/*
 * Applies a change, which may come from outside. Takes `before`; `change` is borrowed. *out is a new reference. Returns
 * false, without a result, if the change is malformed or does not fit the value.
 */
bool value_change_apply_take(tn_value before, tn_value change, tn_value *out);

#endif
