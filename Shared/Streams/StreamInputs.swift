package import Bus
import Dispatch
package import Workouts

/// What other services publish of a session and its results take in, besides items and state. Empty in route-builder.
package struct StreamInputs: Sendable {
    package var profile: Profile?
    package var route: RouteInput?

    package init(profile: Profile? = nil, route: RouteInput? = nil) {
        self.profile = profile
        self.route = route
    }
}

/// A session's state with the user's profile at its start, which is on a topic of its own.
package struct ProfiledState: Sendable {
    package let state: SessionState
    /// The newest received profile.
    private let received: SessionProfile?

    package init(_ state: SessionState, _ received: SessionProfile? = nil) {
        self.state = state
        self.received = received
    }

    /// `nil` if the user had none, or before it arrives.
    package var profile: Profile? { state.profileRevision == nil ? nil : received?.profile }

    /// Whether the profile has arrived.
    var isComplete: Bool { state.profileRevision.map { $0 <= received?.revision ?? -1 } ?? true }
}

/// Runs a long computation. Not on a thread of Swift's tasks: these are as many as the cores, and the loop needs one.
func onComputingThread<Result: Sendable>(_ compute: @escaping @Sendable () -> Result) async -> Result {
    await withCheckedContinuation { continuation in
        DispatchQueue.global().async { continuation.resume(returning: compute()) }
    }
}
