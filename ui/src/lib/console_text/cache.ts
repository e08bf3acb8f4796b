/* Words of the page that flushes caches. */

export const cache = {
	title: 'Cache',
	about:
		'Engines keep the beginnings of prompts, and reuse them for requests of the same tenant, model and tag. After a flush ' +
		'no request uses what was kept before. Running requests go on.',
	form: 'Flush',
	scope: 'What is flushed',
	scopes: { all: 'Everything', model: 'One model', tenant: 'One tenant', tag: 'One tag of a tenant' },
	scopeHints: {
		all: 'All tenants, on all models.',
		model: 'All tenants, on this model.',
		tenant: 'This tenant, on all models.',
		tag: 'The requests of the tenant with this X-Cache-Tag, on all models.'
	},
	choose: 'Choose a model',
	model: 'Model',
	tenant: 'Tenant',
	tenantHint: 'Also a name that only X-Tenant-ID has.',
	tag: 'Tag',
	tagHint: 'The value of X-Cache-Tag.',
	show: 'Show what it affects',
	effect: 'What the flush affects',
	planned: (scope: string) => `Scope of this flush: ${scope}.`,
	namespaces: (which: string) => `Cache namespaces that end: ${which}.`,
	affects: (models: number, replicas: number, running: number) =>
		`Loaded models: ${models}, with ${replicas} replicas. Running requests: ${running}; they go on.`,
	models: 'Models that the flush affects',
	replicas: 'Replicas',
	running: 'Running requests',
	noEngine: 'No engine runs that could have kept something; the flush is complete at once.',
	flush: 'Flush now',
	progress: 'The flush',
	flushed: 'The flush is complete: no request uses what was cached before.',
	removed: (count: string | undefined) => (count === undefined ? 'Entries removed: unknown' : `Entries removed: ${count}`),
	freed: (size: string | undefined) => (size === undefined ? 'Memory freed: unknown' : `Memory freed: ${size}`),
	because: (reason: string) => `Why a number is unknown: ${reason}`,
	operation: 'Operation',
	copyId: 'Copy the id of the operation',
	recent: 'Recent flushes',
	empty: 'Nothing was flushed within the last day.'
};
