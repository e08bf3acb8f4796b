/* Words of the queue and of the page of one job. */

import { grouped } from './numbers';

export const queue = {
	title: 'Queue',
	summary: 'By model and tenant',
	jobs: 'Jobs',
	idle: 'No job runs or waits.',
	noJobs: 'No job runs or waits that fits the filter.',
	all: 'all',
	columns: {
		job: 'Job',
		model: 'Model',
		tenant: 'Tenant',
		priority: 'Priority',
		status: 'Status',
		position: 'Position',
		waited: 'Waited',
		tokens: 'Tokens so far',
		speed: 'Speed',
		worker: 'Worker',
		replica: 'Replica',
		admitted: 'Admitted',
		running: 'Running',
		waiting: 'Waiting',
		oldest: 'Oldest wait',
		actions: 'Actions'
	},
	priorities: {
		high: 'high',
		high_background: 'high, in the background',
		normal: 'normal',
		normal_background: 'normal, in the background',
		low: 'low'
	},
	statuses: {
		queued: 'waiting',
		running: 'running',
		completed: 'completed',
		incomplete: 'incomplete',
		failed: 'failed',
		cancelled: 'cancelled'
	},
	stopping: 'stopping',
	attempt: (count: number) => `attempt ${count}`,
	place: (position: number, isEstimate: boolean) => `${isEstimate ? 'about ' : ''}${position}`,
	eta: (wait: string) => `in about ${wait}`,
	waitUnknown: 'no estimate yet',
	since: (time: string) => `since ${time}`,
	runs: (time: string) => `in ${time}`,
	perSecond: (count: string) => `${count} tokens/s`,
	ofSlots: (count: number, most: number) => `${count} of ${most}`,
	more: (count: number, all: number) =>
		`The table has the first ${grouped(count)} of ${grouped(all)} jobs. A filter, or a search for the whole id of a job, finds others.`,
	explain: (id: string) => `Details of ${id}`,
	cancelOf: (id: string) => `Cancel ${id}`,
	cancelTitle: 'Cancel this job?',
	cancelQuestion: (tenant: string, model: string, runs: boolean) =>
		`The job of ${tenant} at ${model} ${runs ? 'runs: its engine is asked to stop, and its slot is free again' : 'waits, and ends at once'}.`,
	cancelNow: 'Cancel the job',
	cancelSome: (count: number) => (count === 1 ? 'Cancel 1 job' : `Cancel ${count} jobs`),
	cancelSomeTitle: (count: number) => `Cancel ${count} jobs?`,
	cancelSomeQuestion: (waiting: number, running: number, tenants: string) =>
		[
			waiting > 0 ? `${waiting} waiting ${waiting === 1 ? 'job ends' : 'jobs end'} at once.` : '',
			running > 0 ? `${running} running ${running === 1 ? 'job is' : 'jobs are'} asked to stop, which frees the slots.` : '',
			`Jobs by tenant: ${tenants}.`
		]
			.filter(Boolean)
			.join(' '),
	cancelledSome: (ended: number, stopping: number) =>
		`${ended} ${ended === 1 ? 'job has' : 'jobs have'} ended` +
		(stopping === 0 ? '.' : `, ${stopping} running ${stopping === 1 ? 'one is' : 'ones are'} asked to stop.`),
	notCancelled: (count: number, reason: string) => `${count} of the jobs ${count === 1 ? 'was' : 'were'} not cancelled: ${reason}`,
	cancelled: (status: string) =>
		status === 'running' ? 'The engine is asked to stop the job.' : `The job has ended: ${status}.`,
	cancelAll: 'Cancel all',
	cancelAllOf: (tenant: string, model: string) => `Cancel all jobs of ${tenant} at ${model}`,
	cancelAllTitle: 'Cancel all jobs of a tenant?',
	cancelAllQuestion: (tenant: string, model: string, waiting: number, running: number) =>
		`${tenant} has ${waiting} waiting and ${running} running jobs at ${model}. The waiting ones end.`,
	alsoRunning: 'Stop the running ones, too',
	cancelAllNow: 'Cancel the jobs',
	cancelledAll: (ended: number, left: number, stopping: number) =>
		`${ended} waiting jobs have ended, ${left} end within seconds, ${stopping} running ones are asked to stop.`,
	details: 'A job, and why it waits',
	ran: 'Run time',
	deadline: 'Ends at the latest',
	estimatedWait: 'Estimated wait',
	finishReason: 'Finish reason',
	errorCode: 'Error',
	usage: 'Tokens',
	usageOf: (input: number, cached: number, output: number) => `${input} in (${cached} cached), ${output} out`,
	choice: {
		title: 'Why is the next one next?',
		waitsFor: (reason: string) => `The model's jobs: ${reason}.`,
		numbers: 'The numbers of fair share',
		number: 'Number',
		meaning: 'What it decides',
		ownTenant: (tenant: string) => `${tenant} (this job)`,
		nextTenant: (tenant: string) => `${tenant} (goes next)`,
		noTenant: 'no tenant goes next',
		runs: 'Running jobs by weight',
		runsOf: (share: string, running: number, weight: string) => `${share} (${running} running, weight ${weight})`,
		runsMean: (share: string) => `A tenant with ${share} or more is passed over: it runs its share of the slots already.`,
		runsMeanNothing: 'A tenant that runs its share of the slots already is passed over.',
		served: 'Tokens served by weight',
		servedMean: 'Of the tenants that are left, the one that was served least goes next.',
		floor: 'Level of idle tenants',
		floorMean: 'A tenant that was idle starts here, so that it does not accumulate credit.',
		skips: (priority: string, skipped: number | null, most: number) =>
			skipped === null
				? `Priority ${priority}: no job of it waits.`
				: most === 0
					? `Priority ${priority} goes first, unless a lower one was skipped too often.`
					: `Priority ${priority} was skipped ${skipped} times; it goes next after ${most}.`,
		bound: (running: number, most: number) => `The tenant runs ${running} jobs on all models, and may run ${most} at once.`,
		reserve: (oneIn: number) => `One slot in ${oneIn} is kept for tenants that run nothing on the model.`,
		backgroundReserve: (count: number) =>
			`${count === 1 ? 'The last slot is' : `The last ${count} slots are`} kept from background jobs of tenants that run jobs on the model.`,
		slots: (running: number, slots: number) => `${running} of ${slots} slots are taken.`,
		assumed: (count: number) =>
			`No slot is free before: the numbers are those after the end of ${count === 1 ? 'the oldest running job' : `the ${count} oldest running jobs`}.`
	}
};
