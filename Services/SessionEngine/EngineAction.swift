import Bus
import Workouts

/// What the machine wants done. Saves come before everything that is sent: nothing is published or answered that is not
/// on disk.
enum EngineAction: Hashable {
    case save(SessionKey)
    case saveReply(SessionKey, Reply)
    case publishState(SessionKey)
    case publishWorkout(SessionKey)
    case publishCurrent(User)
    case announce(SessionKey, Announcement)
    case reply(User, Client, Reply)
}
