import Bus
import Client
import Foundation
import Logging
import MQTT
import ServiceKit
import Storage
import Workouts

extension ExporterLoop {
    /// Begins what is due, takes what has come whole, and asks for what does not come by itself.
    mutating func goOn(_ now: Timestamp) async {
        if isConnected, commits.isWriting { await begin(now) }
        for key in collector.complete { collect(key, now) }
        let overdue = collector.advance(to: now)
        for key in overdue.requests {
            let request = SessionRequest(id: CommandID(UUID()), client: context.client, action: .chunks)
            messages.append(Topic.session(key, .request).message(JSONCoding.encode(request)))
        }
        for key in overdue.expired {
            fail(key, "no series or track for a minute; check that metrics-aggregator and route-builder run", now)
        }
        await perform(now)
    }

    /// What was begun is saved and told before it is done. Where the disk refuses just then it is done all the same: after a
    /// crash it is done again, under the same key.
    private mutating func begin(_ now: Timestamp) async {
        let room = targets.concurrency.map { ($0, $1 - machine.underway[$0, default: 0]) }
        let begun = machine.begin(now: now, room: Dictionary(uniqueKeysWithValues: room))
        guard !begun.works.isEmpty else { return }
        actions += begun.actions
        await perform(now)
        let works = begun.works.filter { epochs[$0.key.session.shard] != nil }
        let records: [StoreRecord]
        do throws(StoreError) {
            let keys = works.map { StoreKey(shard: $0.key.session.shard, key: "\($0.key)") }
            records = try await store.records(in: ExportRecord.workouts, at: keys)
        } catch {
            for work in works { end(work, .failed("\(error)"), now) }
            return
        }
        for work in works {
            let bytes = records.first { $0.key == "\(work.key)" }?.value ?? []
            do throws(PayloadError) {
                collecting[work.key] = (work, try JSONCoding.decode(WorkoutRecord.self, from: bytes))
                collector.want(work.key, summaries: work.summaries, now: now)
            } catch {
                context.logger.error("corrupt record", metadata: [LogKey.record: "workouts/\(work.key)"])
                end(work, .refused("the stored workout is corrupt"), now)
            }
        }
    }

    private mutating func collect(_ key: SessionKey, _ now: Timestamp) {
        do throws(PayloadError) {
            guard let rows = try collector.take(key), let (work, workout) = collecting.removeValue(forKey: key) else {
                return
            }
            jobs.append(
                .deliver(CollectedWork(work: work, workout: workout, series: rows.series, track: rows.track)))
        } catch {
            fail(key, "series or track are corrupt", now)
        }
    }

    private mutating func fail(_ key: SessionKey, _ reason: String, _ now: Timestamp) {
        guard let (work, _) = collecting.removeValue(forKey: key) else { return }
        end(work, .failed(reason), now)
    }

    private mutating func end(_ work: ExportWork, _ delivery: Delivery, _ now: Timestamp) {
        for destination in work.destinations {
            take(DeliveryOutcome(key: work.key, destination, delivery: delivery), now)
        }
    }

    /// The jobs since the last call.
    mutating func takeJobs() -> [TargetJob] {
        defer { jobs = [] }
        return jobs
    }
}
