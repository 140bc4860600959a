import CPostgres
import Foundation
import Synchronization

/// The jobs of one thread, which blocks in calls to the database.
final class PostgresJobs<Job: Sendable>: Sendable {
    enum Next {
        case job(Job)
        /// The time is over, or the socket is readable.
        case none
        /// No job will follow.
        case closed
    }

    private let state = Mutex<(jobs: [Job], isClosed: Bool)>(([], false))
    private let wake = eventfd(0, Int32(EFD_CLOEXEC | EFD_NONBLOCK))

    deinit {
        Foundation.close(wake)
    }

    /// Returns whether the thread will take the job.
    func add(_ job: Job) -> Bool {
        let isOpen = state.withLock { state in
            if !state.isClosed { state.jobs.append(job) }
            return !state.isClosed
        }
        signal()
        return isOpen
    }

    /// Ends the thread after its jobs.
    func close() {
        state.withLock { $0.isClosed = true }
        signal()
    }

    private func signal() {
        var one: UInt64 = 1
        _ = write(wake, &one, MemoryLayout<UInt64>.size)
    }

    /// Waits for a job.
    func next(until deadline: ContinuousClock.Instant, socket: Int32? = nil) -> Next {
        while true {
            let next: Next? = state.withLock { state in
                if !state.jobs.isEmpty { return .job(state.jobs.removeFirst()) }
                return state.isClosed ? .closed : nil
            }
            if let next { return next }
            let remaining = deadline - .now
            guard remaining > .zero else { return .none }
            var states = [pollfd(fd: wake, events: Int16(POLLIN), revents: 0)]
            if let socket { states.append(pollfd(fd: socket, events: Int16(POLLIN), revents: 0)) }
            _ = poll(&states, nfds_t(states.count), remaining.pollTimeout)
            if states[0].revents != 0 {
                var count: UInt64 = 0
                _ = read(wake, &count, MemoryLayout<UInt64>.size)
            }
            if states.count == 2, states[1].revents != 0 { return .none }
        }
    }
}
