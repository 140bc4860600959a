import Bus
import Workouts

/// Collects a page of a user's history, newest first, from workouts that come in any order: of them it holds no more than
/// the page does, and one.
struct HistoryPage {
    private let page: UserRequest.Page
    private(set) var newest: [WorkoutOverview] = []

    init(_ page: UserRequest.Page) {
        self.page = page
    }

    mutating func take(_ overview: WorkoutOverview) {
        if let before = page.before, overview.place >= before { return }
        let index = newest.firstIndex { $0.place < overview.place } ?? newest.endIndex
        newest.insert(overview, at: index)
        // One more than the page tells that there is another page.
        if newest.count > page.limit + 1 { newest.removeLast() }
    }

    func reply(_ now: Timestamp) -> Reply {
        var reply = Reply(id: page.envelope.id, revision: nil, now: now)
        reply.workouts = Array(newest.prefix(page.limit))
        if newest.count > page.limit { reply.next = reply.workouts?.last?.place }
        return reply
    }
}
