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

/** Pages without an entry in the navigation, and the account. */
const OTHERS = ['/admin/model', '/admin/add', '/account'] as const;
const ROUTES = [...PAGES.map(({ route }) => route), ...OTHERS];

type Route = (typeof ROUTES)[number] | '/';

/** A page of the UI with the query of its address, `?` included. */
interface Landing {
	route: Route;
	query: string;
}

/** The most characters of a page's address that a sign-in by the provider keeps (`to` in the API). */
const LONGEST = 1_024;

/** The page of an address without the prefix of a proxy: one of the UI's own, or the nearest; never another host. */
function pageOf(wanted: string): Landing {
	const base = 'ui://pages/'; // its scheme and host are given up by an address of another host
	const url = URL.canParse(wanted, base) ? new URL(wanted, base) : undefined;
	if (!url?.href.startsWith(base)) return { route: '/', query: '' };
	const route = ROUTES.find((known) => known === url.pathname);
	if (route === undefined) return { route: url.pathname.startsWith('/admin/') ? '/admin' : '/', query: '' };
	const query = new URLSearchParams(url.search).toString(); // of the characters that `to` in the API may have
	return { route, query: query && `?${query}` };
}

/** The page after a sign-in: the wanted one, or the nearest that a session with these scopes may see. */
export function landingOf(wanted: string, scopes: readonly string[]): Landing {
	const page = pageOf(wanted);
	if (!page.route.startsWith('/admin')) return page;
	if (!scopes.includes('read') && scopes.includes('inference')) return { route: '/account', query: '' };
	return page.route === '/admin/sessions' && !scopes.includes('admin') ? { route: '/admin', query: '' } : page;
}

/** The address to which a sign-in by the provider returns: without its query if it is too long. */
export function returnAddress(wanted: string): string {
	const { route, query } = pageOf(wanted);
	return route.length + query.length > LONGEST ? route : route + query;
}
