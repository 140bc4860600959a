/// What the engine reads of a service's presence.
struct SeenPresence: Decodable {
    enum Status: String, Decodable {
        case online, offline
    }

    let status: Status
}
