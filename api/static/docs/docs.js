// Starts Swagger UI: "Try it out" works with the session of the UI, and the search looks at operations, not only at groups.
import { curlOf } from './curl.js';
import { begun, cancel, drop } from './running.js';

const UI_HEADER = 'X-Stoker-UI'; // a request with a session needs it (docs/decisions/0018)
const NOTHING = () => null; // in place of Swagger UI's own search, and of the choice among one server
const addresses = document.body.dataset;
const field = document.getElementById('search');
const frozen = document.getElementById('frozen');
let caller = {}; // the answer of `GET /v1/session`

/** The request as it is sent, with the command of curl that does the same. */
function prepared(request) {
	if (request.loadSpec) return request; // it reads the document
	if (request.body instanceof FormData) {
		const empty = [...request.body].filter(([, value]) => value === '');
		for (const [name] of empty) request.body.delete(name); // Swagger UI sends fields that were left out
	}
	const isOwn = new URL(request.url, location.href).origin === location.origin;
	const hasKey = Object.keys(request.headers).some((name) => name.toLowerCase() === 'authorization');
	request.withKey = isOwn && !hasKey && caller.signed_in === true && !caller.open;
	request.curl = curlOf(request, request.withKey);
	if (isOwn) request.headers[UI_HEADER] = '1';
	return request;
}

/** The command of curl, in place of Swagger UI's own, which has neither a key nor the fields as they are sent. */
function Curl({ request, getComponent }) {
	const { createElement } = page.React;
	const curl = request?.get('curl');
	if (!curl) return null;
	return createElement(
		'div',
		{ className: 'curl-command' },
		createElement('h4', null, 'Curl'),
		createElement(getComponent('HighlightCode', true), { language: 'bash', className: 'curl', canCopy: true }, curl),
		request.get('withKey') &&
			createElement('p', { className: 'curl-key' }, 'curl has no session: set the variable KEY to an API key first.')
	);
}

/** The groups with those operations that have each word in their method, path, summary or group. */
function matching(groups, phrase) {
	const words = phrase.toLowerCase().split(/\s+/).filter(Boolean);
	return groups
		.map((group, title) =>
			group.update('operations', (operations) =>
				operations.filter((one) => {
					const summary = one.getIn(['operation', 'summary']);
					const text = `${one.get('method')} ${one.get('path')} ${summary} ${title}`.toLowerCase();
					return words.every((word) => text.includes(word));
				})
			)
		)
		.filter((group) => group.get('operations').size > 0);
}

/** What a field of a form begins with: its example. Swagger UI would send "string" for each other one. */
function firstValue(schema) {
	const { type, example, examples } = schema.toJS?.() ?? schema;
	return examples?.[0] ?? example ?? ([type].flat().includes('array') ? [] : '');
}

const changes = {
	fn: { opsFilter: matching },
	components: { FilterContainer: NOTHING, ServersContainer: NOTHING, curl: Curl },
	statePlugins: {
		spec: {
			wrapActions: {
				executeRequest: (execute, { specActions }) => (request) => {
					const show = (answer) => specActions.setResponse(request.pathName, request.method, answer);
					return execute({ ...request, ...begun(request, show) });
				},
				clearResponse: (clear) => (path, method) => {
					drop(path, method);
					return clear(path, method);
				}
			}
		},
		layout: {
			wrapActions: {
				// "Cancel", and the close of an operation: `thing` is ['operations', group, operation, 'try-it-out' or nothing]
				show: (show) => (thing, isShown) => {
					if (!isShown && thing[0] === 'operations') cancel(thing[2]);
					return show(thing, isShown);
				}
			}
		}
	},
	afterLoad() {
		const sample = this.fn.getSampleSchema;
		// the kind of content is false for a field of a form
		this.fn.getSampleSchema = (schema, kind, ...more) =>
			kind === false ? firstValue(schema) : sample(schema, kind, ...more);
	}
};

const page = SwaggerUIBundle({
	url: addresses.document,
	domNode: document.getElementById('swagger'),
	presets: [SwaggerUIBundle.presets.apis],
	plugins: [changes],
	layout: 'BaseLayout',
	deepLinking: true,
	docExpansion: 'none',
	defaultModelsExpandDepth: -1, // each operation shows its own schemas
	displayRequestDuration: true,
	requestInterceptor: prepared,
	onComplete: () => search(field.value.trim()), // which may have been typed before
	validatorUrl: null
});

/** Show what is searched for, in open groups; without a search, all groups closed. */
function search(phrase) {
	page.layoutActions.updateFilter(phrase);
	const groups = page.specSelectors.tags();
	// not `layoutActions.show`, which writes each group into the address
	for (const group of groups) {
		const payload = { thing: ['operations-tag', group.get('name')], shown: phrase !== '' };
		page.getStore().dispatch({ type: 'layout_show', payload });
	}
}

field.addEventListener('input', () => search(field.value.trim()));

function link(text, href) {
	const anchor = Object.assign(document.createElement('a'), { href, target: '_blank', rel: 'noopener' });
	anchor.append(text);
	return anchor;
}

/** What "Try it out" needs: nothing, a session that is there, or a key. */
function needs(session) {
	if (session.open) return ['This platform needs no key.'];
	if (session.signed_in) {
		const scopes = session.scopes.join(', ');
		const person = session.person ? `${session.person.name}, ` : '';
		return [
			`Signed in as ${person}tenant ${session.tenant} (${scopes}): “Try it out” uses this session below /v1.`,
			' Other paths need a key: press Authorize.'
		];
	}
	const key = 'Press Authorize to enter a key, and “Try it out” sends requests to this platform.';
	return addresses.signIn ? [link('Sign in', addresses.signIn), ' for the paths below /v1. ', key] : [key];
}

async function showCaller() {
	try {
		const answer = await fetch(addresses.session, { headers: { [UI_HEADER]: '1' } });
		if (!answer.ok) return;
		caller = await answer.json();
		document.getElementById('caller').replaceChildren(...needs(caller));
	} catch {
		// the platform does not answer: the line stays as it is
	}
}

/** Show, within 10 seconds, that the platform accepts connections and does not answer, until it answers again. */
async function watch() {
	const signal = AbortSignal.timeout(5_000);
	let isFrozen = false;
	try {
		const { status } = await fetch(addresses.live, { signal, cache: 'no-store' });
		isFrozen = status === 502 || status === 504;
	} catch {
		isFrozen = signal.aborted;
	}
	if (isFrozen && frozen.hidden) {
		frozen.textContent = `The platform has not answered since ${new Date().toLocaleTimeString('en-GB')}.`;
	}
	frozen.hidden = !isFrozen;
	setTimeout(() => void watch(), 3_000);
}

setTimeout(() => void watch(), 3_000);
addEventListener('focus', () => void showCaller()); // after a sign-in in another tab
void showCaller();
