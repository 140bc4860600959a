import Bus
import Workouts

/// The page of a virtual run, or of all of a person's. The stream and the replies fill it in: it shows what others share with
/// this person alone.
struct RunPage: Sendable {
    let frame: PageFrame
    let run: String?
    let units: String
    let tileURL: String?
    let tileAttribution: String?

    /// - Parameter run: `nil` for the list.
    init(_ run: RunID?, login: Login, units: Units?, _ configuration: DashboardConfiguration, assets: String) {
        frame = PageFrame(
            title: run == nil ? "Virtual runs" : "Virtual run", assets: assets, login: "\(login.account)",
            module: run == nil ? "runs" : "run", homeIcon: "arrow-left", hasMap: run != nil,
            hasPlans: login.ownsWorkouts)
        self.run = run?.description
        self.units = (units ?? .metric).rawValue
        tileURL = configuration.tileURL
        tileAttribution = configuration.tileAttribution
    }
}
