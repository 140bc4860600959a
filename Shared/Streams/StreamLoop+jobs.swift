import Bus
import Logging
import ServiceKit
import Workouts

/// The chunks of a session with many items go out a few at a time.
struct ChunkSending<Work: StreamWork> {
    let job: StreamJob<Work>
    let rows: FinalRows
    let revision: Int64
    var next = 0
}

extension StreamLoop {
    /// Removes and returns the jobs to run. Their ends belong to a later event.
    package mutating func takeJobs() -> [StreamJob<Work>] {
        defer { jobs = [] }
        return jobs
    }

    mutating func startJobs(_ now: Moment) {
        jobs += machine.startJobs(now: now)
    }

    /// Publishes what a job computed, unless its session has left memory since.
    mutating func receiveJobEnd(_ end: StreamJob<Work>.End, _ now: Moment) async {
        let job = end.job
        guard let session = machine.end(end) else { return }
        switch (end.outcome, job.purpose) {
        case (.folded(let live), _):
            let isFirst = session.live == nil
            machine.adopt(live, end, now: now)
            if isFirst { acknowledgeStreams(of: session, now) }
        case (.finished(let results), .chunks):
            guard let summary = machine.repeatChunks(session, results, now: now) else { break }
            if await publish(summary, now, job) == .committed { return }
        case (.finished(let results), _):
            switch await publish(machine.summarize(session, results, now: now), now, job) {
            case .committed: return
            case .refused: machine.requestSummary(session, now)
            case .lost: break
            }
        case (.outdated, _):
            if let route = job.route, route == session.record.route {
                replaceRoute(route, of: job.key, now)
            } else {
                machine.retry(end, now: now)
            }
        case (.corrupt, _), (.failed, _):
            context.logger.error("item read failed, retrying", metadata: ["session": "\(job.key)"])
            machine.retry(end, now: now)
        }
        machine.release(job)
    }

    /// Sends the next chunks of sessions with many items. The last one frees the place of its job.
    mutating func sendChunks() {
        for index in chunkSendings.indices {
            let sending = chunkSendings[index]
            let count = min(StreamTimes.chunksAtOnce, sending.rows.chunkCount - sending.next)
            // Deleted, or of another owner.
            guard let session = machine.sessions[sending.job.key], session.job == sending.job.number, count > 0 else {
                machine.release(sending.job)
                chunkSendings[index].next = .max
                continue
            }
            let numbers = sending.next..<sending.next + count
            send(
                numbers.map { number in
                    StreamMachine<Work>.chunk(number, sending.job.key, sending.rows, sending.revision)
                }, of: sending.job.key)
            chunkSendings[index].next += count
        }
        chunkSendings.removeAll { $0.next == .max }
    }
}
