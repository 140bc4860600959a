/// How long to wait after so many failures in a row: doubling between two bounds, each wait shortened by a random part of up
/// to a half, so that those who failed together do not come back together.
enum RetryDelay {
    static let shortest = 5.0
    static let longest = 300.0

    /// - Parameter failures: how many there were, at least one.
    /// - Returns: seconds.
    static func seconds(failures: Int, using random: inout some RandomNumberGenerator) -> Double {
        // Beyond ten doublings it is the longest anyway.
        let ceiling = min(shortest * Double(1 << min(failures - 1, 10)), longest)
        return ceiling * Double.random(in: 0.5...1, using: &random)
    }
}
