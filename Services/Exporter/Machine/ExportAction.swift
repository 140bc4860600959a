import Bus
import Workouts

/// What the machine wants done: first what is saved and erased, in one commit, then the rest.
enum ExportAction: Hashable {
    /// The session's record, as it stands when it is written.
    case save(SessionKey)
    /// The workout that was just received, beside the record.
    case saveWorkout(SessionKey)
    /// The record and the workout go.
    case erase(SessionKey)
    /// What stands on `export/{target}` is to be what ``ExporterMachine/message(of:target:)`` says by then.
    case publish(SessionKey, Target)
    /// Files below the folder of exports go, as far as they are there.
    case removeFiles(SessionKey, [String])
    case reply(User, Client, Reply)
}
