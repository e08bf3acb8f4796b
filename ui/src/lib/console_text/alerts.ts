/* Words of the page of alerts and of the webhooks that send them. */

export const alerts = {
	title: 'Alerts',
	empty: 'There is no rule.',
	inNav: 'fire unacknowledged',
	neverEvaluated: 'The rules have not been evaluated yet: the first time is within 20 seconds of the start.',
	late: (at: string) => `The rules were last evaluated at ${at}: no API process does it now, so what you see may be old.`,
	columns: {
		name: 'Rule',
		state: 'State',
		severity: 'Severity',
		since: 'Since',
		value: 'Value',
		by: 'Acknowledged by',
		condition: 'Condition (PromQL)',
		actions: 'Action'
	},
	states: {
		firing: 'firing',
		pending: 'pending',
		resolved: 'resolved',
		inactive: 'inactive',
		not_evaluated: 'by Prometheus alone'
	},
	severities: { critical: 'critical', warning: 'warning' },
	ago: (age: string) => `${age} ago`,
	instance: (state: string, since: string, isAcknowledged: boolean) =>
		`${state} since ${since}${isAcknowledged ? ', acknowledged' : ''}`,
	toModel: 'Model and log',
	toTenant: 'Tenant and usage',
	toWorkers: 'GPUs and workers',
	toTarget: 'Webhook targets',
	acknowledged: (actor: string, at: string, until: string | null) =>
		`Acknowledged by ${actor} at ${at}${until === null ? '.' : ` until ${until}.`}`,
	acknowledge: 'Acknowledge',
	acknowledgeOf: (name: string) => `Acknowledge ${name}`,
	acknowledgeMeans:
		'These alerts leave the overview until they are resolved, for all operators. One that fires later, of another model or GPU, is shown again. The audit chain records the note.',
	note: 'Note',
	noteHint: 'Such as what is being done about it; at most 500 characters.',
	duration: 'For how long',
	untilResolved: 'until they are resolved',
	hours: (hours: number) => (hours < 24 ? `${hours} ${hours === 1 ? 'hour' : 'hours'}` : `${hours / 24} ${hours === 24 ? 'day' : 'days'}`),
	end: 'Take back',
	endOf: (name: string) => `Take back the acknowledgement of ${name}`,
	endMeans: 'What fires of this rule counts as unacknowledged again, for all operators.'
};

export const webhooks = {
	title: 'Webhook targets',
	none: 'No webhook target is configured (webhooks.targets): the platform sends its alerts nowhere.',
	columns: {
		name: 'Target',
		state: 'State',
		waiting: 'Waiting events',
		delivered: 'Latest success',
		failed: 'Latest failure',
		lost: 'Lost events',
		actions: 'Action'
	},
	states: { fails: 'does not receive', receives: 'receives', unused: 'no event yet' },
	waiting: 'waiting',
	problem: (at: string, reason: string, since: string | null) =>
		since === null ? `The latest attempt that failed was at ${at}: ${reason}` : `Since ${since} no event has arrived. Latest attempt at ${at}: ${reason}`,
	test: 'Send a test event',
	testing: 'Sending',
	testOf: (name: string) => `Send a test event to ${name}`,
	arrived: (name: string) => `The test event has arrived at ${name}.`,
	didNotArrive: (name: string, reason: string) => `The test event did not arrive at ${name}: ${reason}`
};
