import { text } from '$lib/text';

/** The pages for operators, in its order: the route and its title. */
export const PAGES = [
	{ route: '/admin', title: text.nav.overview },
	{ route: '/admin/models', title: text.nav.models },
	{ route: '/admin/operations', title: text.nav.operations },
	{ route: '/admin/workers', title: text.nav.workers },
	{ route: '/admin/alerts', title: text.nav.alerts },
	{ route: '/admin/queue', title: text.nav.queue },
	{ route: '/admin/requests', title: text.nav.requests },
	{ route: '/admin/tenants', title: text.nav.tenants },
	{ route: '/admin/sessions', title: text.nav.sessions },
	{ route: '/admin/cache', title: text.nav.cache },
	{ route: '/admin/approvals', title: text.nav.approvals },
	{ route: '/admin/audit', title: text.nav.audit }
] as const;
