import { expect, test } from 'vitest';
import { factsOf } from '../src/lib/services/model_facts';
import type { Model } from '../src/lib/services/models';

const ROW = {
	resolved_backend: 'stub',
	dynamic: false,
	configured_enabled: true,
	loaded_replicas: 1,
	replicas: 2,
	scaling: null,
	registered: false,
	effective_target_inflight: 4,
	inflight_requests: 3,
	queue_depth: 5,
	vram_estimate_mib: 512,
	vram_estimate_replica_count: 2,
	vram_estimate_source: 'model_artifact_size'
};

function facts(fields: Partial<Model> = {}, speed?: number): Record<string, string> {
	return Object.fromEntries(factsOf({ ...ROW, ...fields } as unknown as Model, speed));
}

test('the estimate of the memory has its replicas and its source', () => {
	expect(facts()['Memory estimate']).toBe('512 MiB, 2 replicas (computed from the files and the settings)');
	expect(facts({ vram_estimate_replica_count: 1 })['Memory estimate']).toContain('1 replica (');
	expect(facts({ vram_estimate_mib: null })['Memory estimate']).toBe('unknown');
});

test('a context that is less than what is set says why', () => {
	expect(facts()).not.toHaveProperty('Context of one request');
	expect(facts({ context_tokens: 8192, context_reason: null })['Context of one request']).toBe('8,192 tokens');
	expect(facts({ context_tokens: 4096, context_reason: 'it was made for 4096' })['Context of one request']).toBe(
		'4,096 tokens; it was made for 4096'
	);
});

test('replicas that follow the load have their bounds', () => {
	expect(facts()['Replicas (up / wanted)']).toBe('1 / 2');
	expect(facts({ scaling: { min: 1, max: 3 } })['Replicas (up / wanted)']).toBe('1 / 2, from 1 to 3 by the load');
});

test('a registered model says so, and a dynamic one that its unload removes it', () => {
	expect(facts()['Configured']).toBe('loaded at the start');
	expect(facts({ dynamic: true })['Configured']).toBe('not configured: its unload removes it');
	expect(facts({ dynamic: true, registered: true, configured_enabled: false })['Configured']).toBe(
		'registered, not loaded at the start'
	);
});

test('a source that the page does not know is shown as it is', () => {
	expect(facts({ vram_estimate_source: 'guess' as Model['vram_estimate_source'] })['Memory estimate']).toContain('(guess)');
});

test('a speed that was not measured is not zero', () => {
	expect(facts()['Answer tokens per second']).toBe('not measured');
	expect(facts({}, 0)['Answer tokens per second']).toBe('0');
	expect(facts({}, 12)['Answer tokens per second']).toBe('12');
});
