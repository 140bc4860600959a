import ServiceKit
import Synchronization
package import Workouts

/// A clock that stops until a test advances it.
package final class ManualClock: WallClock {
    /// No task slept before the timeout.
    package struct NoSleeper: Error {}

    private struct Sleeper {
        let deadline: Timestamp
        let number: Int
        let continuation: CheckedContinuation<Void, any Error>
    }

    private struct State {
        var now: Timestamp
        var sleepers: [Sleeper] = []
        var observers: [Int: (wanted: Int, continuation: CheckedContinuation<Void, any Error>)] = [:]
        var canceled: Set<Int> = []
        var numbers = 0
    }

    private let state: Mutex<State>

    /// Starts at `now`, by default 2025-01-01T00:00:00Z.
    package init(now: Timestamp = Timestamp(microseconds: 1_735_689_600_000_000)) {
        state = Mutex(State(now: now))
    }

    package var now: Timestamp { state.withLock(\.now) }

    package var minimumResolution: Duration { .microseconds(1) }

    /// The number of sleeping tasks.
    package var sleeperCount: Int { state.withLock(\.sleepers.count) }

    /// Advances the time and wakes the tasks whose deadlines it reaches: earliest deadline first, equal deadlines in
    /// the order of going to sleep. A task that sleeps again waits for the next advance.
    package func advance(by duration: Duration) {
        let due = state.withLock { state in
            state.now = state.now.advanced(by: duration)
            let now = state.now
            let due = state.sleepers.filter { $0.deadline <= now }
            state.sleepers.removeAll { $0.deadline <= now }
            return due.sorted { ($0.deadline, $0.number) < ($1.deadline, $1.number) }
        }
        for sleeper in due { sleeper.continuation.resume() }
    }

    package func wait(for duration: Duration) async throws {
        try await sleep(until: now.advanced(by: duration), tolerance: nil)
    }

    package func sleep(until deadline: Timestamp, tolerance: Duration?) async throws {
        let number = nextNumber()
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let sleeper = Sleeper(deadline: deadline, number: number, continuation: continuation)
                settle(sleeper)
            }
        } onCancel: {
            cancel(number)
        }
    }

    /// Waits until at least `count` tasks sleep.
    /// - Throws: `NoSleeper` after `bound` of real time.
    package func waitForSleepers(_ count: Int = 1, bound: Duration = .seconds(120)) async throws {
        let number = nextNumber()
        let alarm = Task {
            try await Task.sleep(for: bound)
            cancel(number)
        }
        defer { alarm.cancel() }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let outcome: Result<Void, any Error>? = state.withLock { state in
                    if state.sleepers.count >= count { return .success(()) }
                    if state.canceled.remove(number) != nil { return .failure(NoSleeper()) }
                    state.observers[number] = (count, continuation)
                    return nil
                }
                if let outcome { continuation.resume(with: outcome) }
            }
        } onCancel: {
            cancel(number)
        }
    }

    private func nextNumber() -> Int {
        state.withLock { state in
            state.numbers += 1
            return state.numbers
        }
    }

    private func settle(_ sleeper: Sleeper) {
        let (outcome, observers) = state.withLock {
            state -> (Result<Void, any Error>?, [CheckedContinuation<Void, any Error>]) in
            if state.canceled.remove(sleeper.number) != nil { return (.failure(CancellationError()), []) }
            if sleeper.deadline <= state.now { return (.success(()), []) }
            state.sleepers.append(sleeper)
            let count = state.sleepers.count
            let satisfied = state.observers.filter { $0.value.wanted <= count }
            for number in satisfied.keys { state.observers[number] = nil }
            return (nil, satisfied.values.map(\.continuation))
        }
        if let outcome { sleeper.continuation.resume(with: outcome) }
        for observer in observers { observer.resume() }
    }

    /// Wakes the sleeper or observer with this number with an error, or records that it must not start.
    private func cancel(_ number: Int) {
        let (continuation, error) = state.withLock {
            state -> (CheckedContinuation<Void, any Error>?, any Error) in
            if let index = state.sleepers.firstIndex(where: { $0.number == number }) {
                return (state.sleepers.remove(at: index).continuation, CancellationError())
            }
            if let observer = state.observers.removeValue(forKey: number) {
                return (observer.continuation, NoSleeper())
            }
            state.canceled.insert(number)
            return (nil, NoSleeper())
        }
        continuation?.resume(throwing: error)
    }
}
