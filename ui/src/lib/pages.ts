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

type Route = (typeof PAGES)[number]['route'] | '/account' | '/';

/** The page after a sign-in: the wanted one, or the nearest that a session with these scopes may see. */
export function landingOf(wanted: string, scopes: readonly string[]): Route {
	const page = PAGES.find(({ route }) => route === wanted)?.route ?? (wanted.startsWith('/admin/') ? '/admin' : undefined);
	if (page === undefined) return wanted === '/account' ? wanted : '/';
	if (!scopes.includes('read') && scopes.includes('inference')) return '/account';
	return page === '/admin/sessions' && !scopes.includes('admin') ? '/admin' : page;
}
