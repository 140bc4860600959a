import Bus
import ServiceKit
import Workouts

/// An action that a ``LiveRun`` returns.
enum LiveOutput: Equatable, Sendable {
    case partners(User, Partners)
    case positions(User, RunPositions)
    /// Clear the user's retained `partners`.
    case clear(User)
    /// Publish it after the commit of ``LiveRun/stored``, which says that it was given.
    case cue(User, Announcement)
    /// The user's prompt appeared, with the time of the last item of a partner, or disappeared (`nil`): the view changes.
    case prompt(User, since: Timestamp?)
}
