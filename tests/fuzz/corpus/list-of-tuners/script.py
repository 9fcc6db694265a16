from collections import OrderedDict
# How the kernel may vary.
kernel_name = 'vector_add'
tune_params = OrderedDict()
tune_params["block_size_x"] = [64, 128,
                               256]  # threads
tune_params["items"] = (1, 2, 4,)
tune_params["use_shared"] = [True, False]
restrictions = ["block_size_x*items<=1024",
                'not use_shared or items > 1']
problem_size = "n"
grid_div_x = ["block_size_x", "items"]
smem_args = dict()
smem_args["size"] = "block_size_x * 4 if use_shared else 0"
