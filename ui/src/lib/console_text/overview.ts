/* Words of the overview. */

/** Why the platform is not healthy, or takes no requests, by the `reason` of `/health`; another one is shown as it is. */
const HEALTH: Record<string, string | undefined> = {
	no_progress: 'the engines of all loaded models, or their workers, hang',
	out_of_memory: 'no model is served, and one failed as its device has too little memory',
	all_models_failed: 'no model is served, and at least one failed',
	starting: 'no enabled model has been loaded yet',
	draining: 'all workers are drained, or the API shuts down',
	queue_saturated: 'the queues of all models that are served are full',
	storage_unavailable: 'Redis cannot be reached',
	storage_full: 'Redis accepts no writes, as its memory or its disk is full'
};

export const overview = {
	title: 'Overview',
	reading: 'Reading the state of the platform',
	healthy: 'The platform is healthy.',
	problems: (count: number) =>
		`The platform answers requests, and ${count === 1 ? 'one thing needs' : `${count} things need`} an operator.`,
	unhealthy: (reason = 'unknown') => `The platform is not healthy: ${HEALTH[reason] ?? reason}`,
	notReady: (reason: string) => `The platform takes no new requests: ${HEALTH[reason] ?? reason}.`,
	saturated: (count: number) =>
		count === 1
			? 'The queue of one model has reached queue.saturated_at: once it is full, its requests are refused.'
			: `The queues of ${count} models have reached queue.saturated_at: once they are full, their requests are refused.`,
	modelsLoaded: 'Models loaded',
	queueDepth: 'Waiting requests',
	uptime: 'Uptime of this process',
	unreachable: 'The platform cannot be reached.',
	again: 'Try again',
	mayNot: 'This session may not see the rest of this page.',
	signInAsAnother: 'Sign in with another key',
	signInFor: 'to see what runs, what changed lately and what needs an operator.',
	needsOperator: 'Needs an operator',
	nothingToDo: 'Nothing needs an operator: no alert fires unacknowledged, no model has failed, no replica or worker is lost, no proposal waits, no worker is drained.',
	allAcknowledged: (count: number) =>
		`Nothing needs an operator that is not acknowledged; ${count === 1 ? 'one thing is' : `${count} things are`} acknowledged.`,
	partlyKnown: 'The platform answers requests; what needs an operator is not known now.',
	notReadable: (what: 'models' | 'workers' | 'alerts' | 'proposals', reason: string | undefined) =>
		`${{ models: 'The models', workers: 'The workers', alerts: 'The alerts', proposals: 'The proposals' }[what]} cannot be read${reason ? `: ${reason}` : '.'}`,
	attention: {
		kinds: { unevaluated: 'alerts', failed: 'failed', missing: 'replicas missing', lost: 'worker lost', proposals: 'approval', drained: 'drained', alert: 'alert' },
		failed: (model: string) => `Model ${model} has failed.`,
		missing: (model: string, up: number, wanted: number) => `Model ${model} has ${up} of ${wanted} replicas.`,
		restart: (at: string) => `The platform starts it again at ${at}.`,
		lost: (worker: string, at: string) => `Worker ${worker} sent no heartbeat and was removed at ${at}.`,
		proposals: (count: number, isLeast: boolean) =>
			count === 1 ? 'A proposal waits for signatures.' : `${isLeast ? 'At least ' : ''}${count} proposals wait for signatures.`,
		drained: (worker: string, actor: string, running: number) =>
			`Worker ${worker} is drained by ${actor}; ${running} ${running === 1 ? 'request runs' : 'requests run'} on it.`,
		alert: (name: string, summary: string, more: number) => `${name}: ${summary}${more > 0 ? ` (and ${more} more)` : ''}`,
		toAlerts: 'Alerts',
		toLog: 'Model and log',
		toApprovals: 'Approvals',
		toWorkers: 'Workers'
	},
	glance: {
		title: 'At a glance',
		waits: 'The request that waits longest',
		wait: (time: string, tenant: string, model: string) => `${time}: a request of ${tenant} for ${model}.`,
		why: 'Why it waits',
		nothingWaits: 'No request waits.',
		yesterday: 'Most tokens yesterday (UTC)',
		tokens: (tokens: string, share: string) => `${tokens} tokens, ${share}`,
		nothingUsed: 'No tokens were used.',
		limits: 'Closest to a limit',
		limit: (limit: 'requests' | 'tokens' | 'running' | 'waiting' | 'bytes' | 'budget', used: string, total: string) =>
			`${{ requests: 'requests', tokens: 'tokens', running: 'running', waiting: 'waiting', bytes: 'stored', budget: 'budget of the month' }[limit]}: ${used} of ${total}`,
		noLimits: 'No tenant uses anything of a limit.',
		workers: 'Workers with the least memory left',
		free: (free: string, total: string) => `${free} of ${total} free`,
		models: 'Models that are not loaded, the latest loads first',
		allLoaded: 'All models are loaded.',
		noModels: 'No models are configured.'
	},
	course: 'Over time',
	range: 'Time that the charts show',
	ranges: { '15m': '15 minutes', '1h': '1 hour', '6h': '6 hours', '24h': '24 hours', '7d': '7 days' },
	noSamples: 'There are no samples yet: the first one comes within 10 seconds.',
	charts: {
		tokens: 'Tokens per second',
		output: 'Output',
		input: 'Input',
		load: 'Requests',
		running: 'Running',
		waiting: 'Waiting',
		wait: 'Wait in the queue',
		firstToken: 'Time to the first token',
		p95: '95th percentile',
		p50: 'Median',
		refusals: (every: number) => `Refused requests in ${every < 60 ? `${every} seconds` : `${every / 60} minutes`}`,
		cache: 'Cache hit rate of prompt tokens',
		memory: (total: string) => `Memory in use of ${total}`,
		used: 'Memory in use',
		gpu: 'Utilization of the GPUs',
		everything: 'The whole platform',
		model: (name: string) => `Model ${name}`,
		tenant: (name: string) => `Tenant ${name}`
	},
	subject: 'What the charts are of',
	errors: {
		title: (range: string) => `Errors by code, the last ${range}`,
		code: 'Code',
		count: 'Errors',
		about: 'Of all requests to the API, those of these pages included. A code leads to its requests for models, which alone are in the history.',
		none: 'No request was refused, and none failed.',
		noneOfModel: 'No request failed.',
		unknown: 'Not known: nothing was counted in this time.'
	},
	chart: (title: string, range: string, values: string) => `${title}, the last ${range}. ${values}`,
	chartLine: (label: string, latest: string) => `${label}: latest ${latest}`,
	chartSum: (label: string, sum: string) => `${label}: ${sum}`,
	lastKnown: (value: string, age: string) => `last ${value} (${age} ago)`,
	noRequests: 'no requests',
	noValue: '–',
	chartTime: (title: string) => `${title}: a time`,
	inAll: (value: string) => `${value} in all`,
	latest: 'The latest values',
	atTime: (time: string, values: string) => `${time}. ${values}`,
	value: (label: string, value: string) => `${label}: ${value}`,
	most: (value: string) => `at most ${value}`,
	changes: 'What changed lately',
	noChanges: 'No model and no proposal has changed yet.',
	changed: (from: string | null, to: string) => (from ? `${from} → ${to}` : to),
	catalogue: (change: string, status: string | null) => `${change}${status ? ` ${status}` : ''}`,
	proposal: (operation: string) => `Proposal: ${operation}`
};
