/* Words of the list of tenants, of the page of one, and of its keys and usage. */

export const tenants = {
	title: 'Tenants and keys',
	tenants: 'Tenants',
	add: 'Add a tenant',
	withKey: 'Create a key with the scope inference for it, too',
	change: 'Change',
	changeOf: (name: string) => `Change the tenant ${name}`,
	remove: 'Remove',
	removeOf: (name: string) => `Remove the tenant ${name}`,
	removeWarning: (keys: number) =>
		(keys === 1 ? 'Its key is revoked' : `Its ${keys} keys are revoked`) +
		': no new request is accepted within a second. Requests that were accepted before run to their end. ' +
		'The name is free again when nothing of the tenant can be stored any more.',
	save: 'Save',
	create: 'Create',
	needsProposal:
		'This platform is governed: a change of tenants and keys needs signatures. ' +
		'Propose it with the command stoker op propose, and sign it on the page',
	approvals: 'Approvals',
	limits: 'Limits',
	limited: 'at a limit, or refused within 5 minutes',
	empty: 'There is no tenant.',
	inFile: 'in the configuration file',
	inFileHint: 'The configuration file sets this field; change it there.',
	inFileTenant: 'The configuration file defines this tenant. It is removed there; here you can set what the file leaves open.',
	atLimit: 'at a limit',
	columns: {
		name: 'Tenant',
		weight: 'Weight',
		rates: 'Requests and tokens',
		requests: 'Requests',
		tokens: 'Tokens',
		running: 'Running',
		waiting: 'Waiting',
		bytes: 'Stored',
		refused: 'Refused (429 and 503)',
		keys: 'Keys',
		actions: 'Actions'
	},
	noLimit: 'no limit',
	budget: {
		tokens: 'Tokens of the month',
		gpuSeconds: 'GPU-seconds of the month',
		until: (day: string, soft: string) => `anew on ${day} (UTC)${soft ? `; an alert from ${soft}` : ''}`
	},
	upTo: (priority: string) => `up to ${priority.toLowerCase()}`,
	of: (used: string, total: string) => `${used} of ${total}`,
	within: (window: string) => `within ${window}`,
	windows: { 1: 'a second', 60: 'a minute', 3600: 'an hour', 86400: 'a day' } as Record<number, string>,
	atOnce: (most: string, window: string) => `at once; ${most} within ${window}`,
	forModel: (model: string) => `for ${model}`,
	jobs: 'Show',
	jobsOf: (name: string) => `Show the requests of ${name}`,
	refusals: (status: number, code: string, recent: string, hour: string) =>
		`${status} ${code}: ${recent} in 5 minutes, ${hour} in an hour`,
	keysOf: (count: number, name: string) => `${count === 1 ? '1 key' : `${count} keys`} of ${name}`,
	fields: {
		name: 'Name',
		weight: 'Weight',
		max_priority: 'Highest priority',
		rate_limit: 'Limit of requests',
		token_limit: 'Limit of tokens',
		max_running: 'Most running requests',
		max_waiting: 'Most waiting requests of a model',
		max_streams: 'Most open streams (each API process)',
		max_readers: 'Most readers of a response (each API process)',
		max_bytes: 'Most stored bytes',
		budget_tokens: 'Tokens a month',
		budget_gpu_s: 'GPU-seconds a month',
		budget_soft: 'Soft bound of the budget',
		receipts: 'Receipts',
		may_load: 'Loads and unloads models',
		comfyui_workflows: 'Brings workflows for ComfyUI',
		keep_texts: 'Keep prompts and answers'
	},
	hints: {
		name: 'Small letters, digits, _ and -',
		weight: 'Its share while several tenants wait; empty: 1',
		rate_limit: 'Such as 100req/min (s, min, hour, day)',
		token_limit: 'Such as 20000tok/min',
		budget_tokens: 'Refused from there on; empty: no bound',
		budget_gpu_s: 'Seconds of requests in slots; empty: no bound',
		budget_soft: 'The share from which an alert fires, such as 0.8; empty: none does',
		keep_texts:
			'Yes: the history of requests has the texts of new requests, at most as long as their records. Administrators can read them, and the audit names each reader. No (the default): all kept texts of the tenant are deleted.'
	} as Record<string, string | undefined>,
	limitHint: 'Empty: as for all tenants',
	defaultChoice: 'Default',
	priorities: { high: 'High', normal: 'Normal', low: 'Low' },
	yes: 'Yes',
	no: 'No',
	nothingChanged: 'Nothing is changed yet.'
};

export const keys = {
	title: 'API keys',
	create: 'Create a key',
	ofTenant: 'Tenant',
	allTenants: 'All tenants',
	empty: 'No key is here.',
	more: 'Show more',
	onlyFirst: (count: number) => `Only the first ${count} keys are shown: choose a tenant.`,
	columns: {
		label: 'Label',
		tenant: 'Tenant',
		hint: 'Ends with',
		scopes: 'Scopes',
		models: 'Models',
		created: 'Created',
		used: 'Last used',
		expires: 'Expires',
		actions: 'Actions'
	},
	noLabel: 'no label',
	allModels: 'all',
	never: 'never',
	expired: 'expired',
	expiresSoon: 'within 7 days',
	inFile: 'in the configuration',
	revoke: 'Revoke',
	revokeOf: (label: string) => `Revoke the key ${label}`,
	revokeWarning:
		'Its next request is refused within a second, also on open connections. Requests that were accepted before run to their end. ' +
		'A revoked key cannot be restored.',
	fields: { tenant: 'Tenant', scopes: 'Scopes', models: 'Models', expires_at: 'Expires', label: 'Label' },
	scopes: {
		inference: 'inference: sends requests to models',
		read: 'read: sees the pages for operators, and changes nothing',
		operate: 'operate: loads, unloads, flushes, cancels and drains',
		admin: 'admin: changes the platform',
		metrics: 'metrics: reads measurements',
		governance: 'governance: makes and signs proposals'
	},
	modelsHint: 'Names, separated by commas; empty: all models',
	expiresHint: 'In your time zone; empty: never',
	labelHint: 'A note for people, such as the program that has the key',
	created: 'The new key',
	createMeans: 'The key works at once, and is shown once: after this form.',
	once: 'Copy the key now: it is not shown again. The platform stores only its digest.',
	copyKey: 'Copy the key'
};

export const usage = {
	title: 'Usage by day',
	range: 'Days',
	ranges: { 7: 'Last 7 days', 30: 'Last 30 days', 90: 'Last 90 days', 365: 'Last 365 days' } as Record<number, string>,
	measure: 'Show',
	measures: {
		output_tokens: 'Output tokens',
		input_tokens: 'Input tokens',
		requests: 'Requests',
		gpu_ms: 'Time in slots (s)',
		audio_seconds: 'Audio (s)',
		images: 'Images',
		pixel_steps: 'Computed pixels (width x height x steps, in millions)'
	},
	split: 'By',
	splits: { tenant: 'Tenant', model: 'Model' },
	tenant: 'Tenant',
	model: 'Model',
	all: 'All',
	rest: 'all others',
	empty: 'Nothing was used on these days.',
	chart: (what: string, first: string, last: string, total: string) =>
		`${what} by day from ${first} to ${last} (UTC), ${total} in all. The table has the numbers.`,
	bar: (day: string, name: string, value: string) => `${day}, ${name}: ${value}`,
	asTable: 'As a table',
	day: 'Day (UTC)',
	total: 'Total',
	csv: 'Download CSV',
	note: 'Requests that ended, about a second late. Kept for 400 days.'
};
