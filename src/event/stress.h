/*
 * What tests/stress changes when it builds this room for itself: delays at the points where
 * threads could meet, and weaker memory orders where two sides must see each other. In
 * normal builds the points are nothing and the orders are as they must be.
 */
#ifndef EVENT_STRESS_H
#define EVENT_STRESS_H

#ifdef STRESS
void stress_point(void);
#define STRESS_POINT() stress_point()
#else
#define STRESS_POINT() ((void)0)
#endif

/* Each side stores its own word, then looks at the other's. */
#ifndef MAILBOX_POST_ORDER /* the writer's store of a finished cell */
#define MAILBOX_POST_ORDER memory_order_seq_cst
#endif
#ifndef MAILBOX_SLEEP_ORDER /* the reader's store of `sleeping` */
#define MAILBOX_SLEEP_ORDER memory_order_seq_cst
#endif
#ifndef MAILBOX_LOOK_ORDER /* the loads of both that follow */
#define MAILBOX_LOOK_ORDER memory_order_seq_cst
#endif

#endif
