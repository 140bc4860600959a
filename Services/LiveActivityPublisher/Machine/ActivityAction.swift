import Bus
import Workouts

/// What the machine wants done: first what is saved and erased, in one commit, then the rest.
enum ActivityAction: Hashable {
    /// The session's record, as it stands when it is written.
    case save(SessionKey)
    case erase(SessionKey)
    /// What stands on `activity` is to be what ``ActivityMachine/message(of:)`` says by then.
    case publish(SessionKey)
    case reply(User, Client, Reply)
    case report(PushReport)
}

/// A change in how APNs does, for the log.
enum PushReport: Hashable {
    case answering
    /// Pushes are tried again, less and less often.
    case failing(String)
    /// Pushes are not taken for a mistake of ours, or one in the settings.
    case refusing(String)
}
